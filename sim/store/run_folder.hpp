#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/indexed.hpp"
#include "output/results.hpp"
#include "run/point_result.hpp"
#include "scenario/scenario.hpp"
#include "store/folder_lock.hpp"

namespace syncopate {

/// How a point ended: with a result or with an error.
struct EndedPoint {
  std::optional<PointResult> result{};
  std::string error{};
};

/// The folder of a study's results.
/// - `study.json` describes the study, with the content of all input files.
/// - `points/` holds a file per ended point, written at once. Its name is a digest of everything that determines the result. So runs can be
///   interrupted, split into shards and merged.
/// See scenarios/STUDIES.md.
class RunFolder {
 public:
  /// What a run does with an existing folder. While another run is at work in it, only `go_on` may enter.
  enum class Entry {
    begin,      ///< the folder must be empty or hold a finished run of the same study; starts from scratch
    go_on,      ///< keeps the ended points of the same study
    overwrite,  ///< accepts any folder; starts from scratch
  };

  /// `study` must have digests and outlive this object. `shortcuts`: see PointOptions.
  RunFolder(std::filesystem::path folder, const Study& study, bool shortcuts);

  /// Creates the folder or takes it over for this study. Removes the results of earlier runs, except with Entry::go_on. Throws UsageError
  /// if `entry` does not accept the folder's content, or would remove what another run is writing there, and OutputError.
  void enter(Entry entry);
  /// Whether the last run in the folder has written all results.
  bool has_finished() const;

  const std::filesystem::path& path() const { return folder_; }
  std::filesystem::path points() const { return folder_ / "points"; }
  /// Of the study, without the program.
  const std::string& digest() const { return digest_; }
  /// The name of a point's file, without its ending.
  const std::string& key(int point) const { return keys_[point]; }

  /// Whether `points/` holds any file.
  bool has_points() const;
  /// How a point ended, as its file in this folder or another run's says, which may hold another study. Nullopt if there is no file. Throws
  /// InputError for a file that is not as `keep` wrote it.
  std::optional<EndedPoint> read(int point, const std::filesystem::path& other) const;
  /// The same from this folder. Nullopt also for a file that is not as `keep` wrote it.
  std::optional<EndedPoint> find(int point) const;
  /// Writes a point's file. May be called in any process. Throws OutputError.
  void keep(int point, const EndedPoint& ended) const;
  /// Call it after a point's file was written. Flushes files to the disk at most once a second.
  void sync_now_and_then(int point);
  void remove(int point) const;

  /// Throws UsageError unless `other` holds results of the same study by the same program.
  void require_same_study(const std::filesystem::path& other) const;

  /// Writes results.csv, results.json and run.json. `finished`: every point has ended. `shared`: other runs may still write points. Writes
  /// the other files even if one fails, then throws OutputError.
  void write(const Results& results, bool finished, bool shared) const;

 private:
  Json description() const;
  void check_entry(Entry entry) const;
  void remove_older() const;
  std::filesystem::path file(int point) const;

  std::filesystem::path folder_;
  const Study& study_;
  bool shortcuts_;
  Indexed<std::string> keys_;  ///< by point
  std::string digest_;
  std::optional<FolderLock> lock_;  ///< from `enter` on
  std::chrono::steady_clock::time_point last_sync_{};
};

/// Whether the file is a timeline, a dataflow record or an explanation of a point, by its name.
bool is_about_a_point(const std::string& file_name);

/// The study of a run's folder, with digests.
struct FoundStudy {
  Study study;
  bool shortcuts = true;  ///< whether it was simulated with shortcuts, see PointOptions
};

/// Reads the study from a run's folder. Throws InputError if study.json is missing or damaged.
FoundStudy read_study_of(const std::filesystem::path& folder);

}  // namespace syncopate
