#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/document.hpp"
#include "base/project_files.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// Reads the files that a study's points name, each once.
class Library {
 public:
  explicit Library(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// Of files that have been read already.
  explicit Library(const std::vector<InputFile>& files);

  /// The document of the file that `field` names, a trace or a cluster: see named_file, whose folder is the scenario's.
  const Document& document(const Field& field, FileKind kind);
  /// The trace in that file, or in the document itself.
  std::shared_ptr<const Trace> trace(const Field& field);
  /// Keeps a document whose `/trace` is a trace, for many scenarios that have it. Returns what stands for it as theirs.
  Json share_trace(Document document);
  /// Of the JSON of the trace that `field` names or is.
  std::string trace_digest(const Field& field);

  /// All that have been read.
  std::vector<InputFile> files() const;

 private:
  struct SharedTrace {
    std::optional<Document> document;  ///< until the trace has been read
    std::string digest;
    std::shared_ptr<const Trace> trace{};
  };
  /// Null where the field is none.
  SharedTrace* find_shared(const Field& field);

  std::filesystem::path folder_;
  std::map<std::pair<FileKind, std::string>, Document> documents_;
  std::map<std::string, std::shared_ptr<const Trace>> traces_;
  std::map<std::string, std::string> trace_digests_;  ///< by name
  std::vector<SharedTrace> shared_;                   ///< by the number that stands for each
};

/// Reads a scenario from a document without a sweep in which `/cluster` (and `/trace`, when something below it was set)
/// has been replaced by its file's content. Throws InputError.
/// `is_job`: of several, whose servers have places in the network of all.
Scenario read_scenario(const Document& document, Library& library, bool is_job = false);

/// The same with values put at pointers, outer ones before those inside them, of a document whose files are still paths. `origin`: who put
/// them there, for messages. `digest`, unless null, becomes that of the scenario and of the files that it names.
Scenario read_scenario(const Document& base, std::vector<std::pair<std::string, Json>> values, const std::string& origin, Library& library,
                       std::string* digest = nullptr);

}  // namespace syncopate
