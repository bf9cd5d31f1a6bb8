#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "run/point.hpp"
#include "simctl/sharing.hpp"
#include "store/claims.hpp"
#include "store/run_folder.hpp"

namespace syncopate {

/// The points of a study that a run is to end: those of its shard, without what its folder or a reused one holds already, and without
/// what other runs simulate at the moment. A result that there is stays until it is replaced by one.
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
  /// Other runs may simulate points of the same shard.
  bool are_claimed() const { return claims_.has_value(); }
  /// How many points this run is to end, with those that had ended before it.
  std::size_t in_shard() const;

  /// What has ended before the run begins.
  Ended begin();
  /// Points of the shard that have not ended, ascending.
  std::vector<int> waiting() const;
  /// Those of them that no other run has claimed.
  std::vector<int> free() const;
  /// What other runs have ended since the last call.
  Ended ended_elsewhere();
  /// What other shards have ended in the same folder; the run claims nothing any more.
  Ended end();

  /// Whether this run, and no other one, simulates a point from now on. Called in any process of the run.
  bool may_begin(int point) const;
  /// A sign of life.
  void refresh(int point);
  /// The run has ended a point, by itself. Returns what has become of it: where there was a result already, or another run had one first,
  /// that one. Called in any process of the run. Throws OutputError when it cannot be kept.
  EndedPoint keep(int point, const EndedPoint& ended) const;
  /// The run has ended a point, by itself, and has kept it if it can.
  void note_end(int point);
  /// Whether this run explains a point from now on, and no other one; it says when it has done so.
  bool may_explain(int point) const;
  void end_explaining(int point) const;

 private:
  std::vector<int> not_ended(bool in_shard) const;
  /// Of the points that have not ended, in this run's shard or outside it, those of which `look` finds the end.
  Ended take(bool in_shard, const std::function<std::optional<EndedPoint>(int point)>& look);
  void forget_failed();
  /// What the folder holds, unless it has to be simulated again.
  std::optional<EndedPoint> find_whole(int point) const;
  std::optional<EndedPoint> reuse(int point);
  std::string explaining(int point) const { return folder_->key(point) + "-explained"; }

  const SharingOptions& options_;
  std::function<bool(int)> lacks_file_;
  Shard shard_;
  std::optional<RunFolder> folder_;
  std::optional<Claims> claims_;
  std::vector<bool> has_ended_;  ///< by point, in this run, before it or elsewhere
};

}  // namespace syncopate
