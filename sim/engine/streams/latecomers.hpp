#pragma once

#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "collective/communicator.hpp"
#include "collective/payload.hpp"
#include "engine/clock/clock.hpp"
#include "engine/clock/moment.hpp"
#include "engine/streams/admission.hpp"

namespace syncopate {

/// Of a stream whose rules have a deadline, who has come in time for which collective, and what becomes of who has not. A collective may
/// start when all members that are there have posted it or, once the deadline after its first post has passed, as soon as enough have. A
/// member that posts when its next collective has started takes over the result of the newest that has from the one before it, round the
/// communicator's members, that has taken part in that and is there, and goes on with the one after.
class Latecomers {
 public:
  /// When a rank has what another one hands over to it, if that begins at `start`.
  using HandOver = std::function<Moment(int from, int to, const SharedPayload&, const Moment& start)>;
  using MayStart = std::function<void(const Moment& now)>;

  /// `posters`: members, or one that stands for all; `needed`: those without which none starts; `may_start`: called for one collective
  /// after the other, in their order.
  Latecomers(Communicator communicator, int posters, Seconds deadline, int needed, HandOver hand_over, MayStart may_start, Clock& clock);

  /// The collective that the member posts next, or takes over.
  Ticket next_ticket(int member) const;
  bool has_missed(int member) const { return members_[static_cast<std::size_t>(member)].next < gathering_; }

  /// Of a collective that has started, and not ended.
  bool takes_part(int member, Ticket ticket) const;

  /// Another member has posted the one that this one would post next, or it has missed that.
  bool is_expected(int member) const;

  /// A member is not there from now on, or is again; from then on so many posts are needed.
  void leave(int member, int needed, const Moment& now);
  void join(int member, int needed);

  /// A member posts its next collective, which it has not missed.
  void post(int member, const Moment& now);
  /// The next collective starts.
  void start();
  /// A member posts what it has missed; `end`: of the newest that has started.
  Ticket take_over(int member, const SharedPayload& payload, const Moment& now, const Moment& end);

  /// When the collective ends for a member that has taken it over; null for others.
  const Moment* taken_over(int member, Ticket ticket) const;

 private:
  struct Attendance {
    std::vector<int> members;
    int awaited = 0;  ///< who is there and has not posted it
    bool is_overdue = false;
    bool may_start = false;
  };
  struct TakenOver {
    Ticket ticket;
    Moment end;
  };
  struct Member {
    bool is_there = true;
    Ticket next = 0;                                       ///< one beyond the last that it has posted or taken over
    std::array<std::optional<TakenOver>, 2> taken_over{};  ///< the last times, of which it may wait for both
  };

  Attendance& attendance(Ticket ticket) { return attendances_[ticket - gathering_]; }
  bool are_enough(const Attendance& its) const;
  void consider(Ticket ticket, const Moment& now);
  /// The one whose result a member takes over.
  int giver(int to) const;

  Communicator communicator_;
  Seconds deadline_;
  int needed_;
  HandOver hand_over_;
  MayStart may_start_;
  Clock& clock_;
  Ticket gathering_ = 0;                ///< all before it have started
  std::deque<Attendance> attendances_;  ///< from that on
  std::vector<Member> members_;
  std::vector<int> present_;  ///< who has taken part in the newest that has started, ascending
};

}  // namespace syncopate
