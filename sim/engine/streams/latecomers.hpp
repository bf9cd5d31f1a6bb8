#pragma once

#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "base/indexed.hpp"
#include "collective/communicator.hpp"
#include "collective/payload.hpp"
#include "engine/clock/clock.hpp"
#include "engine/clock/moment.hpp"
#include "engine/streams/admission.hpp"

namespace syncopate {

/// The members of a stream whose rules have a deadline: who takes part in which collective, and who is late.
///
/// A collective may start when all members that are present have posted it or, once the deadline after its first post has passed, as soon
/// as enough have. A member that posts a collective that has started without it has missed it. It takes over the result of the newest
/// collective that has started, from the nearest member before it, round the communicator, that takes part in that and is present. It goes
/// on with the collective after that.
class Latecomers {
 public:
  /// When a rank has the result that another one hands over to it from `start` on.
  using HandOver = std::function<Moment(int from, int to, const SharedPayload&, const Moment& start)>;
  using MayStart = std::function<void(const Moment& now)>;

  /// `posters`: how many members post; 1 if one stands for all. `needed`: how many posts a collective needs. `may_start`: called for one
  /// collective after the other, in their order.
  Latecomers(Communicator communicator, int posters, Seconds deadline, int needed, HandOver hand_over, MayStart may_start, Clock& clock);

  /// The collective that the member posts next, or takes over.
  Ticket next_ticket(int member) const;
  bool has_missed(int member) const { return members_[member].next < gathering_; }

  /// Whether the member takes part in a collective that has started and not ended.
  bool takes_part(int member, Ticket ticket) const;

  /// Whether another member has posted the member's next collective, or the member has missed it.
  bool is_expected(int member) const;

  /// A member becomes absent, or is back; a collective needs `needed` posts from now on.
  void leave(int member, int needed, const Moment& now);
  void join(int member, int needed);

  /// A member posts its next collective, which it has not missed.
  void post(int member, const Moment& now);
  /// The next collective starts.
  void start();
  /// A member posts what it has missed. `end`: of the newest collective that has started.
  Ticket take_over(int member, const SharedPayload& payload, const Moment& now, const Moment& end);

  /// When the collective ends for a member that has taken it over; null for others.
  const Moment* taken_over(int member, Ticket ticket) const;

 private:
  struct Attendance {
    std::vector<int> members;
    int awaited = 0;  ///< members that are present and have not posted it
    bool is_overdue = false;
    bool may_start = false;
  };
  struct TakenOver {
    Ticket ticket;
    Moment end;
  };
  struct Member {
    bool is_present = true;
    Ticket next = 0;                                       ///< the collective after the last one that it has posted or taken over
    std::array<std::optional<TakenOver>, 2> taken_over{};  ///< the last two, both of which it may wait for
  };

  Attendance& attendance(Ticket ticket) { return attendances_[ticket - gathering_]; }
  /// Whether enough members have posted the collective for it to start.
  bool are_enough(const Attendance& attendance) const;
  void consider(Ticket ticket, const Moment& now);
  /// The member whose result a late one takes over.
  int giver(int to) const;

  Communicator communicator_;
  Seconds deadline_;
  int needed_;
  HandOver hand_over_;
  MayStart may_start_;
  Clock& clock_;
  Ticket gathering_ = 0;                ///< the first collective that has not started
  std::deque<Attendance> attendances_;  ///< from that on
  Indexed<Member> members_;
  std::vector<int> participants_;  ///< of the newest collective that has started, ascending
};

}  // namespace syncopate
