#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "run/point.hpp"
#include "simctl/sharing.hpp"
#include "store/run_folder.hpp"

namespace syncopate {

/// The points of a study that a run simulates: the points of its shard that have no result in its folder or in a reused folder.
class SharedPoints {
 public:
  using Ended = std::vector<std::pair<int, EndedPoint>>;  ///< by point

  /// Enters the folder. If `folder` is empty, results are not stored. `lacks_file`: whether a point with a result must be simulated again,
  /// because its timeline or record is missing. `study` and `options` must outlive this object. Throws UsageError, OutputError.
  SharedPoints(const Study& study, const SharingOptions& options, const std::string& folder, bool shortcuts,
               std::function<bool(int point)> lacks_file);

  /// Null without a folder.
  const RunFolder* folder() const { return folder_ ? &*folder_ : nullptr; }
  bool is_shard() const { return shard_.count > 1; }
  bool is_in_shard(int point) const { return point % shard_.count == shard_.index; }
  /// Number of points in this run's shard, including those that ended before.
  std::size_t in_shard() const;

  /// The points of the shard that ended before this run. Call it first.
  Ended begin();
  /// What is wrong with files of points that `begin` found and did not take.
  const std::vector<std::string>& refused() const { return refused_; }
  /// Points of the shard that have not ended, ascending.
  std::vector<int> waiting() const;
  /// The points of other shards that have ended in the same folder.
  Ended of_other_shards();

  /// Writes the result of a simulated point and returns it. If the folder has an earlier result of the point, keeps and returns that. May
  /// be called in any process of the run. Throws OutputError.
  EndedPoint keep(int point, const EndedPoint& ended) const;
  /// Call it after this run has simulated a point.
  void note_end(int point);

 private:
  std::vector<int> not_ended(bool in_shard) const;
  /// Marks and returns the points, in the shard or outside it, whose end `look` finds.
  Ended take(bool in_shard, const std::function<std::optional<EndedPoint>(int point)>& look);
  void forget_failed();
  /// The point's end in the folder. Nullopt if it has to be simulated again.
  std::optional<EndedPoint> find_whole(int point);
  /// Notes a refused file, and then returns nullopt.
  std::optional<EndedPoint> read(int point, const std::filesystem::path& folder);
  std::optional<EndedPoint> reuse(int point);

  const SharingOptions& options_;
  std::function<bool(int)> lacks_file_;
  Shard shard_;
  std::optional<RunFolder> folder_;
  std::vector<std::string> refused_{};
  std::vector<bool> has_ended_;  ///< by point: in this run or before it
};

}  // namespace syncopate
