#pragma once

#include <deque>
#include <functional>
#include <optional>
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
  double priority = 0.0;  ///< lower first among those that wait for the channel; equal ones in the order of posting. Alpha-beta only
};

/// Names one posted collective: its position in the Stream.
using Handle = std::size_t;

/// How a Stream moves what is posted.
struct StreamRules {
  bool pipelined =
      false;  ///< collectives in flight overlap; in alpha-beta fidelity their latencies, only their transfers follow each other (DTS)
  double participants = 1.0;  ///< the share of the ranks, in (0, 1], that a collective needs to start; the others' posts join the next
};

/// The communication channel of a job's workers: a queue of collectives. Each rank posts the same collectives in the same
/// order; unless StreamRules relax it, one starts at a rank when the one before has ended there. What moves them, and when a rank
/// has its result, is the derived class's: one for each fidelity.
///
/// A Stream is data: workers are actors that block on it, and timers of SimGrid's clock do the rest. Posts may carry times ahead of
/// the clock, because a worker knows when its next gradients will be ready; not so where not all ranks need to take part.
class Stream {
 public:
  Stream(int index, int posters, double participants);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  /// `poster` (index of a simulated worker) posts its next collective at time `at` >= the clock.
  /// Throws SimulationError when it disagrees with what others posted at the same position.
  Handle post(int poster, const Post& post, Seconds at);

  /// The run is over: what is in flight is dropped, and nobody is woken any more.
  void stop() { stopped_ = true; }

  /// Whether the collective has ended for `poster` at `time`, the clock's; one that ends exactly then has.
  bool has_ended(int poster, Handle handle, Seconds time) const;

  /// Blocks the calling actor until the collective has ended for it; returns when that was, which may lie in the past.
  /// Throws SimulationError when `poster` has not posted it.
  Seconds wait(int poster, Handle handle);

  /// Whether a collective that `poster` takes part in moves at `time`, the clock's, everything that has been posted by then considered.
  virtual bool is_busy(int poster, Seconds time) const = 0;

  /// Somebody is blocked on a collective that `poster` has not posted.
  bool is_awaited_from(int poster) const;

  /// For a diagnosis: every collective that somebody waits for, who has posted it, who has not and who waits.
  std::string describe_waits() const;

  /// The collectives that have started, in that order. One that is still in flight ends, as far as anybody knows, now.
  std::vector<CollectiveSpan> take_spans();

 protected:
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
    Seconds end{};    ///< for the last rank, once known
    bool started = false;
    bool ended = false;  ///< for all
    std::vector<Waiter> waiters{};
    std::vector<Seconds> posted{};               ///< by poster, where a derived class asks for it
    std::vector<std::optional<Seconds>> ends{};  ///< by poster, where they differ; once known
  };

  /// An entry has got another post, at time `at`.
  virtual void posted(Handle handle, int poster, Seconds at) = 0;
  /// Calls note_start for those in flight whose end is not known.
  virtual void note_unfinished() {}
  /// Which collective the next post of `poster` belongs to.
  virtual Handle next_for(int poster) const { return next_[static_cast<std::size_t>(poster)]; }

  /// Throws SimulationError when the post has a priority.
  static void require_no_priority(const Post& post);

  int posters() const { return static_cast<int>(next_.size()); }
  bool is_partial() const { return needed_ < posters(); }
  int needed() const { return needed_; }  ///< posts that start a collective
  bool is_stopped() const { return stopped_; }
  Handle first_entry() const { return forgotten_; }
  Handle end_of_entries() const { return forgotten_ + entries_.size(); }
  Entry& at_handle(Handle handle) { return entries_[handle - forgotten_]; }
  const Entry& at_handle(Handle handle) const { return entries_[handle - forgotten_]; }

  /// The collective's bytes begin to move at `start`, all ranks having posted it; see CollectiveSpan.
  void note_start(Entry& entry, Seconds start, Seconds end);
  /// It has ended for all at its end: whoever waits goes on.
  void finish(Handle handle);
  /// It has ended for `poster`, at its end; if it waits, it goes on.
  static void wake(Entry& entry, int poster);
  /// Its ends are known: whoever waits goes on at its own.
  void wake_at_ends(Entry& entry);

 private:
  void wake_at(Seconds end, const simgrid::s4u::ActorPtr& actor);
  void check_agreement(int poster, const Post& post, const Entry& entry, Handle handle) const;

  int index_;
  std::vector<Handle> next_;  ///< per poster: one beyond the last that it posted
  int needed_;
  std::deque<Entry> entries_;  ///< those that have not ended, and ended ones behind them
  Handle forgotten_ = 0;       ///< the first handle in entries_; all before it have ended
  std::vector<CollectiveSpan> spans_;
  bool stopped_ = false;
};

}  // namespace syncopate
