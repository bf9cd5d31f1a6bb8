#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "run/point.hpp"
#include "simctl/sharing.hpp"
#include "store/run_folder.hpp"

namespace syncopate {

/// The points of a study that a run simulates: those of its shard, without those whose result its folder or a reused one holds already.
class SharedPoints {
 public:
  using Ended = std::vector<std::pair<int, EndedPoint>>;  ///< by point

  /// Enters the folder; `folder` empty: nothing is kept and nothing shared. `lacks_file`: whether a file is missing that is to stand beside
  /// a point's result, so that it has to be simulated again. `study` and `options` outlive this. Throws UsageError, OutputError.
  SharedPoints(const Study& study, const SharingOptions& options, const std::string& folder, bool shortcuts,
               std::function<bool(int point)> lacks_file);

  /// Null without a folder.
  const RunFolder* folder() const { return folder_ ? &*folder_ : nullptr; }
  bool is_shard() const { return shard_.count > 1; }
  bool is_in_shard(int point) const { return point % shard_.count == shard_.index; }
  /// How many points this run is to end, with those that had ended before it.
  std::size_t in_shard() const;

  /// What has ended before the run begins.
  Ended begin();
  /// Points of the shard that have not ended, ascending.
  std::vector<int> waiting() const;
  /// The points of other shards that have ended in the same folder.
  Ended of_other_shards();

  /// Writes the result of a point that this run has simulated, and returns it; an earlier result of the point stays, and is returned.
  /// Called in any process of the run. Throws OutputError.
  EndedPoint keep(int point, const EndedPoint& ended) const;
  /// This run has simulated a point.
  void note_end(int point);

 private:
  std::vector<int> not_ended(bool in_shard) const;
  /// Of the points that have not ended, in this run's shard or outside it, those of which `look` finds the end.
  Ended take(bool in_shard, const std::function<std::optional<EndedPoint>(int point)>& look);
  void forget_failed();
  /// What the folder holds, unless it has to be simulated again.
  std::optional<EndedPoint> find_whole(int point) const;
  std::optional<EndedPoint> reuse(int point);

  const SharingOptions& options_;
  std::function<bool(int)> lacks_file_;
  Shard shard_;
  std::optional<RunFolder> folder_;
  std::vector<bool> has_ended_;  ///< by point: in this run or before it
};

}  // namespace syncopate
