#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "output/results.hpp"
#include "run/point_result.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// What became of a point: a result, or an error.
struct EndedPoint {
  std::optional<PointResult> result{};
  std::string error{};
};

/// The folder that a study's results go to. `study.json` says which study that is, with all that was read for it; every point that has
/// ended has a file in `points/` at once, named after all that decides its result, so that runs can be cut short, shared out and merged.
/// See scenarios/STUDIES.md.
class RunFolder {
 public:
  /// How a run takes what there is.
  enum class Entry {
    begin,      ///< nothing, or a run of the same study that has finished: from the start
    go_on,      ///< what has ended of the same study stays
    overwrite,  ///< whatever it is: from the start
  };

  /// `study` has digests, and outlives this. `shortcuts`: see PointOptions.
  RunFolder(std::filesystem::path folder, const Study& study, bool shortcuts);

  /// Makes it the folder of that study, without what is of another or earlier run but for Entry::go_on. Throws UsageError where `entry`
  /// forbids it, OutputError.
  void enter(Entry entry);
  /// Whether the last run there has written all results.
  bool has_finished() const;

  const std::filesystem::path& path() const { return folder_; }
  std::filesystem::path points() const { return folder_ / "points"; }
  /// The name of a point's file, without its ending.
  const std::string& key(int point) const { return keys_[static_cast<std::size_t>(point)]; }

  /// False where it is not worth looking for any of them.
  bool has_points() const;
  /// Nullopt also for a file that is not whole.
  std::optional<EndedPoint> find(int point) const { return find(point, folder_); }
  /// In another run's folder, of whatever study.
  std::optional<EndedPoint> find(int point, const std::filesystem::path& other) const;
  /// In any process. Throws OutputError.
  void keep(int point, const EndedPoint& ended) const;
  /// A point has been kept, which is safe from a power cut within a second if this is called of all.
  void sync_now_and_then(int point);
  void remove(int point) const;

  /// Throws UsageError unless `other` holds the same study, of the same program.
  void require_same_study(const std::filesystem::path& other) const;

  /// results.csv, results.json and run.json. `finished`: every point has ended. `shared`: other runs may write points yet. A
  /// file that cannot be written costs no other. Throws OutputError.
  void write(const Results& results, bool finished, bool shared) const;

 private:
  Json description() const;
  bool is_same_study(const Json& found) const;
  void check_entry(Entry entry, const Json& found) const;
  void remove_older() const;
  std::filesystem::path file(int point) const;

  std::filesystem::path folder_;
  const Study& study_;
  bool shortcuts_;
  std::vector<std::string> keys_;
  std::string digest_;  ///< of the study, whatever the program
  std::chrono::steady_clock::time_point last_sync_{};
};

/// Whether that is the name of a timeline, a dataflow or an explanation in a run's folder.
bool is_about_a_point(const std::string& file_name);

/// The study of a run's folder, with digests, and whether it was simulated with shortcuts.
struct FoundStudy {
  Study study;
  bool shortcuts = true;
};

/// Throws InputError for a folder without one, or with one that is damaged.
FoundStudy read_study_of(const std::filesystem::path& folder);

}  // namespace syncopate
