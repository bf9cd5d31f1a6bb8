#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/indexed.hpp"
#include "base/queue.hpp"
#include "collective/communicator.hpp"
#include "collective/payload.hpp"
#include "engine/clock/clock.hpp"
#include "engine/streams/admission.hpp"
#include "engine/streams/latecomers.hpp"
#include "engine/streams/transport.hpp"
#include "timeline/timeline.hpp"

namespace syncopate {

/// What a worker hands to a Stream.
struct Post {
  Operation operation = Operation::all_reduce;
  int round = 0;  ///< the step or round that it belongs to; all ranks must agree
  SharedPayload payload;
  double priority = 0.0;  ///< lower first, where the stream's rules are by priority
};

/// A queue of the collectives of a communicator, and its channels. Each rank posts the same collectives in the same order. The stream's
/// Admission decides which collective starts when and at which lane; its Transport moves the bytes.
///
/// A Stream is data: workers are actors that block on it, and events of the clock do the rest. Posts may carry times ahead of the clock,
/// because a worker knows when its next gradients will be ready; not so where a share of the ranks is enough. Where the transport foresees
/// ends, they are known as soon as the last rank has posted; else collectives start and end with the clock.
class Stream {
 public:
  /// `one_for_all`: one simulated rank stands for all of the communicator. `operations`: those that may be posted; empty: any. `transport`:
  /// one that foresees needs the rules' defaults. `hand_over`: used where the rules have a deadline.
  Stream(int index, Communicator communicator, bool one_for_all, const StreamRules& rules, std::vector<Operation> operations,
         std::unique_ptr<Transport> transport, Latecomers::HandOver hand_over, Clock& clock);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int index() const { return index_; }
  const Communicator& communicator() const { return communicator_; }
  /// How many collectives at most are in flight at a time.
  int channels() const { return rules_.channels; }
  bool has_member(int rank) const { return one_for_all_ || communicator_.member(rank) >= 0; }

  /// A rank posts its next collective at time `at` >= the clock, or takes over what it has missed (see Latecomers). Throws SimulationError
  /// when it disagrees with what other ranks have posted as that collective.
  Ticket post(int rank, const Post& post, const Moment& at);

  /// Where a share of the ranks is enough: a rank becomes absent and does not count, or is back.
  void leave(int rank, const Moment& now);
  void join(int rank);

  /// Where the rules have a deadline: whether the rank's next collective has started, so that the rank's next post() takes over.
  bool has_missed(int rank) const;
  /// Where the rules have a deadline: whether another rank has posted the rank's next collective, or the rank has missed it.
  bool is_expected(int rank) const;

  /// The ticket that the rank's next post() will return.
  Ticket next_ticket(int rank) const;

  using Follow = std::function<void(const Moment& end)>;
  /// Calls `follow` as soon as it is known when the collective ends for the rank, at once or later. Throws as wait() does.
  void when_known(int rank, Ticket ticket, Follow follow);

  /// Whether the collective has ended for the rank at `time`, the clock's; one that ends exactly then has. Throws as wait() does.
  bool has_ended(int rank, Ticket ticket, Seconds time) const;

  /// Blocks the calling actor until the collective has ended for it; returns when that was, which may lie in the past.
  /// Throws SimulationError when the rank has not posted it.
  Moment wait(int rank, Ticket ticket);

  /// Whether a collective that the rank takes part in moves at `time`, the clock's, everything that has been posted by then considered.
  bool is_busy(int rank, Seconds time) const;

  /// Until when a rank that is busy at `time` is known to be so without a break; at least `time`.
  Seconds busy_until(int rank, Seconds time) const;

  /// Whether all collectives that the rank has posted have ended for it at `time`: none moves until it posts again, unless a share of the
  /// ranks is enough.
  bool is_idle(int rank, Seconds time) const;

  /// The sum of `share` over the collectives that the rank takes part in and that move at `time`.
  double use(int rank, Seconds time, const std::function<double(const Post&)>& share) const;

  /// Whether some rank is blocked on a collective that this rank has not posted.
  bool is_awaited_from(int rank) const;

  /// For a diagnosis: every collective that some rank waits for, who waits, who has posted it and who has not.
  std::string describe_waits() const;

  /// The collectives that have started. One in flight whose end is not known ends now.
  std::vector<CollectiveSpan> take_spans();

 private:
  struct Waiter {
    int poster;
    Completion* completion;
  };
  struct Follower {
    int poster;
    Follow follow;
  };
  struct Entry {
    Post post;
    int first_rank = 0;
    int posts = 0;
    bool has_enough = false;  ///< as many as it needs to start
    Moment ready{};           ///< when the last rank posts
    Moments posted{};         ///< by lane, where ends are foreseen
    Moments ends{};           ///< by lane; `never` until known
    Seconds start{};          ///< of the last lane
    int lanes_started = 0;
    int lanes_ended = 0;  ///< by the clock
    std::vector<Waiter> waiters{};
    std::vector<Follower> followers{};
  };

  int poster(int rank) const {
    if (one_for_all_) return 0;
    const int member = communicator_.member(rank);
    if (member < 0) fail_for_stranger(rank);
    return member;
  }
  [[noreturn]] void fail_for_stranger(int rank) const;
  int lane(int poster) const { return lanes_ == 1 ? 0 : poster; }
  bool has_entry(Ticket ticket) const { return ticket >= forgotten_; }
  Ticket end_of_entries() const { return forgotten_ + static_cast<Ticket>(entries_.size()); }
  Entry& entry(Ticket ticket) { return entries_[ticket - forgotten_]; }
  const Entry& entry(Ticket ticket) const { return entries_[ticket - forgotten_]; }
  Movement movement(Ticket ticket) const;
  bool agrees(const Post& post, const Post& first) const {
    const bool same_payload = first.payload == post.payload || first.payload->slices == post.payload->slices;
    const bool same_round = first.round == post.round || rules_.is_partial();
    return same_payload && same_round && first.operation == post.operation && first.priority == post.priority;
  }
  /// Throws SimulationError when the rank has not posted it.
  int poster_of(int rank, Ticket ticket) const;
  void check_operation(int rank, const Post& post) const;
  [[noreturn]] void fail_for_disagreement(int rank, const Post& post, const Entry& entry, Ticket ticket) const;

  /// How many posts a collective needs where so many ranks are present.
  int share_of(int ranks) const;
  /// Where one lane stands for all: lets the collective start if enough ranks have posted it.
  void start_gathered(Entry& entry, const Moment& now);
  /// Whether enough ranks have posted the collective, and the poster takes part in it, at `time`, when it has not ended for the poster.
  bool moves(Ticket ticket, int poster, Seconds time) const;

  /// Computes all ends of a collective that all ranks have posted.
  void foresee(Ticket ticket);
  /// A lane may start its next collective at `now` or later.
  void posted(int lane, const Moment& now);
  /// Starts what may start at a lane now and, where that decides what comes next, at all lanes.
  void admit(int lane, const Moment& now);
  void admit_at(int lane, const Moment& now);
  void admit_all(const Moment& now);
  /// Starts the collective at all lanes at once, if the transport knows its end from before.
  bool recall(Ticket ticket, const Moment& now);
  void start(Ticket ticket, int lane, const Moment& now);
  void lane_ended(Ticket ticket, int lane, const Moment& now);
  /// The collective has ended for all: whoever waits goes on.
  void finish(Ticket ticket);
  static void wake(Entry& entry, int lane);
  /// Blocks the calling actor until `end`, which it returns.
  Moment wait_until(const Moment& end);
  /// When the collective ends for a rank that has taken it over; null for others.
  const Moment* taken_over(int poster, Ticket ticket) const { return latecomers_ ? latecomers_->taken_over(poster, ticket) : nullptr; }
  /// The collective's end at the lane is known: calls those who follow.
  void tell_followers(Ticket ticket, int lane);
  CollectiveSpan span_of(Ticket ticket, Seconds end) const;

  int index_;
  Communicator communicator_;
  bool one_for_all_;
  StreamRules rules_;
  std::vector<Operation> operations_;
  std::unique_ptr<Transport> transport_;
  Clock& clock_;
  int lanes_;
  bool foresees_;
  bool goes_on_at_once_;  ///< a lane does when a collective has ended; else what is posted at that instant counts, too
  int present_;           ///< how many ranks are
  int needed_;            ///< posts that start a collective
  Admission admission_;   ///< where nothing is foreseen
  std::optional<Latecomers> latecomers_;
  Indexed<Ticket> next_;  ///< by poster: the ticket after the last one that it has posted
  Ticket gathering_ = 0;  ///< where not all ranks take part: the collective that the next post joins
  Queue<Entry> entries_;  ///< from the first collective that has not ended
  Ticket forgotten_ = 0;  ///< the first ticket in entries_
  Moments last_ends_;     ///< foreseen: by lane
  Moments starts_;        ///< of the collective that is being foreseen
  std::vector<CollectiveSpan> spans_;
};

}  // namespace syncopate
