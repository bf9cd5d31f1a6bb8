#pragma once

#include <deque>
#include <functional>
#include <set>
#include <simgrid/s4u/Actor.hpp>
#include <string>
#include <utility>
#include <vector>

#include "collective/collective.hpp"
#include "collective/cost.hpp"
#include "timeline/timeline.hpp"

namespace syncopate {

/// What a worker hands to its Stream.
struct Post {
  Operation operation = Operation::all_reduce;
  Group group;
  int round = 0;  ///< the step or round that it belongs to; all ranks must agree
  SharedPayload payload;
  double priority = 0.0;  ///< lower first among those that wait for the channel; equal ones in the order of posting
};

/// Names one posted collective: its position in the Stream.
using Handle = std::size_t;

/// How a Stream moves what is posted.
struct StreamRules {
  bool pipelined = false;     ///< latencies of collectives in flight overlap, only their transfers follow each other (DTS)
  double participants = 1.0;  ///< the share of the ranks, in (0, 1], that a collective needs to start; the others' posts join the next
};

/// The communication channel of a job's workers: a queue of collectives of which one moves at a time. Each rank posts
/// the same collectives in the same order; one starts moving when its last rank has posted it and the channel is free.
/// StreamRules may relax both.
///
/// A Stream is data: the last poster completes a collective's registration, and timers of SimGrid's clock start and end
/// it. Posts may carry times ahead of the clock, because a worker knows when its next gradients will be ready; not so where
/// not all ranks need to take part.
class Stream {
 public:
  /// Time of the collective at a position.
  using Cost = std::function<CollectiveTime(const Post&, Handle)>;

  Stream(int index, int posters, StreamRules rules, Cost cost);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// `poster` (index of a simulated worker) posts its next collective at time `at` >= the clock.
  /// Throws SimulationError when it disagrees with what others posted at the same position.
  Handle post(int poster, const Post& post, Seconds at);

  /// The run is over: what is in flight is dropped, and nobody is woken any more.
  void stop() { stopped_ = true; }

  /// Whether the collective has ended at `time`, the clock's; one that ends exactly then has.
  bool has_ended(Handle handle, Seconds time) const;

  /// Blocks the calling actor until the collective has ended; returns its end, which may lie in the past.
  /// Throws SimulationError when `poster` has not posted it.
  Seconds wait(int poster, Handle handle);

  /// Whether a collective moves at `time`, the clock's, everything that has been posted by then considered.
  bool is_busy(Seconds time) const;

  /// Somebody is blocked on a collective that `poster` has not posted.
  bool is_awaited_from(int poster) const;

  /// For a diagnosis: every collective that somebody waits for, who has posted it, who has not and who waits.
  std::string describe_waits() const;

  /// The collectives that have started, in that order.
  std::vector<CollectiveSpan> take_spans() { return std::move(spans_); }

 private:
  struct Waiter {
    int poster;
    simgrid::s4u::ActorPtr actor;
    Seconds* end;  ///< on the actor's stack, for its answer
  };
  struct Entry {
    Post post;
    int first_poster = 0;
    int posts = 0;
    Seconds ready{};  ///< when the last rank posts
    Seconds end{};
    bool started = false;
    bool ended = false;
    std::vector<Waiter> waiters{};
  };

  Entry& at_handle(Handle handle) { return entries_[handle - forgotten_]; }
  const Entry& at_handle(Handle handle) const { return entries_[handle - forgotten_]; }
  bool is_partial() const { return needed_ < static_cast<int>(next_.size()); }
  void check_agreement(int poster, const Post& post, const Entry& entry, Handle handle) const;
  /// Starts a collective at `time`, once everything of that instant has been posted.
  void dispatch_at(Seconds time);
  void dispatch(Seconds now);
  /// Starts the collective that gathers posts when enough ranks are in it.
  void dispatch_partial(Seconds now);
  void start(Handle handle, Seconds now);
  void move(Handle handle, Seconds start, Seconds end);
  void finish(Handle handle);

  int index_;
  std::vector<Handle> next_;  ///< per poster: one beyond the last that it posted
  int needed_;                ///< posts that start a collective
  StreamRules rules_;
  Cost cost_;
  std::deque<Entry> entries_;  ///< those that have not ended, and ended ones behind them
  Handle forgotten_ = 0;       ///< the first handle in entries_; all before it have ended
  Handle gathering_ = 0;       ///< partial: the collective that the next post joins
  std::vector<CollectiveSpan> spans_;
  std::deque<Handle> upcoming_;  ///< posted by all, not ready yet; in the order of posting, in which ready times never decrease
  std::set<std::pair<double, Handle>> waiting_;  ///< ready, by priority and order of posting
  bool busy_ = false;
  bool stopped_ = false;
  Seconds last_end_;  ///< of all that have started
};

}  // namespace syncopate
