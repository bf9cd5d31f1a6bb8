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

/// Reads the files that a study's points name. Each file is read once.
class Library {
 public:
  explicit Library(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// A library of files that have been read already.
  explicit Library(const std::vector<InputFile>& files);

  /// The document of the trace or cluster file that `field` names. Relative names: see named_file, with the scenario's folder.
  const Document& document(const Field& field, FileKind kind);
  /// Replaces the name of a platform that a scenario's cluster has, if there is one, by what is in the file.
  void hold_platform(Document& document);
  /// The trace that `field` names or contains.
  std::shared_ptr<const Trace> trace(const Field& field);
  /// The same with all times multiplied.
  std::shared_ptr<const Trace> trace(const Field& field, double factor);
  /// Keeps a document whose `/trace` is a trace, shared by many scenarios. Returns the placeholder to put into their documents.
  Json share_trace(Document document);
  /// Digest of the JSON of the trace that `field` names or contains.
  std::string trace_digest(const Field& field);

  /// All files read so far.
  std::vector<InputFile> files() const;

 private:
  struct SharedTrace {
    std::optional<Document> document;  ///< until the trace has been read
    std::string digest;
    std::shared_ptr<const Trace> trace{};
  };
  /// The shared trace that `field` is a placeholder for, or null.
  SharedTrace* find_shared(const Field& field);

  std::filesystem::path folder_;
  std::map<std::pair<FileKind, std::string>, Document> documents_;
  std::map<std::string, std::shared_ptr<const Trace>> traces_;
  std::map<std::pair<std::shared_ptr<const Trace>, double>, std::shared_ptr<const Trace>> scaled_;
  std::map<std::string, std::string> trace_digests_;  ///< by file name
  std::vector<SharedTrace> shared_;                   ///< by number of the placeholder
};

/// Reads a scenario from a document without a sweep. `/cluster` (and `/trace`, if something inside it was set) must hold the file's content
/// instead of its name. `is_job`: the scenario is one of several jobs, so its servers get places in the network of all jobs. Throws
/// InputError.
Scenario read_scenario(const Document& document, Library& library, bool is_job = false);

/// The same for a document that still names its files. `values` are set at JSON pointers, outer pointers before those inside them.
/// `origin`: the source of the values, for messages. `digest`: unless null, receives the digest of the scenario and its files.
Scenario read_scenario(const Document& base, std::vector<std::pair<std::string, Json>> values, const std::string& origin, Library& library,
                       std::string* digest = nullptr);

}  // namespace syncopate
