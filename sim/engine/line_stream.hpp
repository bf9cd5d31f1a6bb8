#pragma once

#include <set>

#include "engine/stream.hpp"

namespace syncopate {

/// A Stream whose collectives are one event each, of a time that depends on their bytes alone: alpha-beta fidelity. One starts to move
/// when its last rank has posted it and the channel is free, and ends for all ranks at once.
class LineStream : public Stream {
 public:
  /// Time of the collective at a position.
  using Cost = std::function<CollectiveTime(const Post&, Handle)>;

  LineStream(int index, int posters, StreamRules rules, Cost cost);

  bool is_busy(int poster, Seconds time) const override;

 private:
  void posted(Handle handle, int poster, Seconds at) override;
  Handle next_for(int poster) const override { return is_partial() ? gathering_ : Stream::next_for(poster); }

  /// Starts a collective at `time`, once everything of that instant has been posted.
  void dispatch_at(Seconds time);
  void dispatch(Seconds now);
  /// Starts the collective that gathers posts when enough ranks are in it.
  void dispatch_partial(Seconds now);
  void start(Handle handle, Seconds now);
  void move(Handle handle, Seconds start, Seconds end);
  void end(Handle handle);

  StreamRules rules_;
  Cost cost_;
  Handle gathering_ = 0;         ///< partial: the collective that the next post joins
  std::deque<Handle> upcoming_;  ///< posted by all, not ready yet; in the order of posting, in which ready times never decrease
  std::set<std::pair<double, Handle>> waiting_;  ///< ready, by priority and order of posting
  bool busy_ = false;
  Seconds last_end_;  ///< of all that have started
};

}  // namespace syncopate
