#include "engine/streams/latecomers.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace syncopate {

Latecomers::Latecomers(Communicator communicator, int posters, Seconds deadline, int needed, HandOver hand_over, MayStart may_start,
                       Clock& clock)
    : communicator_(std::move(communicator)),
      deadline_(deadline),
      needed_(needed),
      hand_over_(std::move(hand_over)),
      may_start_(std::move(may_start)),
      clock_(clock),
      members_(posters) {}

Ticket Latecomers::next_ticket(int member) const { return has_missed(member) ? gathering_ - 1 : members_[member].next; }

bool Latecomers::takes_part(int member, Ticket ticket) const {
  return ticket + 1 != gathering_ || std::binary_search(participants_.begin(), participants_.end(), member);
}

bool Latecomers::is_expected(int member) const {
  const Ticket next = members_[member].next;
  return next < gathering_ + attendances_.size();
}

void Latecomers::leave(int member, int needed, const Moment& now) {
  needed_ = needed;
  Member& state = members_[member];
  state.is_present = false;
  for (Ticket ticket = gathering_; ticket < gathering_ + attendances_.size(); ++ticket) {
    if (ticket >= state.next) --attendance(ticket).awaited;
    consider(ticket, now);
  }
}

void Latecomers::join(int member, int needed) {
  needed_ = needed;
  Member& state = members_[member];
  state.is_present = true;
  for (Ticket ticket = std::max(state.next, gathering_); ticket < gathering_ + attendances_.size(); ++ticket) ++attendance(ticket).awaited;
}

void Latecomers::post(int member, const Moment& now) {
  const Ticket ticket = members_[member].next++;
  if (ticket - gathering_ == attendances_.size()) {
    const auto present = std::count_if(members_.begin(), members_.end(), [](const Member& each) { return each.is_present; });
    attendances_.push_back({.members = {}, .awaited = static_cast<int>(present)});
    const Moment due = after(now, deadline_, {.kind = PathClass::host, .worker = communicator_.rank(member)});
    clock_.after(due.time * (1.0 + rounding), [this, ticket, due] {
      if (ticket < gathering_) return;
      attendance(ticket).is_overdue = true;
      consider(ticket, due);
    });
  }
  attendance(ticket).members.push_back(member);
  --attendance(ticket).awaited;
  consider(ticket, now);
}

bool Latecomers::are_enough(const Attendance& attendance) const {
  return attendance.awaited == 0 || (attendance.is_overdue && attendance.members.size() >= at(needed_));
}

void Latecomers::consider(Ticket ticket, const Moment& now) {
  if (attendance(ticket).may_start || !are_enough(attendance(ticket))) return;
  // Decide after everything that happens at this instant (up to rounding errors): posts, also of members that first look who has posted,
  // and members that leave or come back.
  clock_.after(now.time * (1.0 + 2 * rounding), [this, ticket, now] {
    if (ticket < gathering_ || attendance(ticket).may_start || !are_enough(attendance(ticket))) return;
    attendance(ticket).may_start = true;
    may_start_(now);
  });
}

void Latecomers::start() {
  participants_ = std::move(attendances_.front().members);
  std::sort(participants_.begin(), participants_.end());
  attendances_.pop_front();
  ++gathering_;
}

int Latecomers::giver(int to) const {
  std::vector<int> givers;
  std::copy_if(participants_.begin(), participants_.end(), std::back_inserter(givers),
               [this](int member) { return members_[member].is_present; });
  if (givers.empty()) givers = participants_;
  const auto next = std::lower_bound(givers.begin(), givers.end(), to);
  return next == givers.begin() ? givers.back() : *std::prev(next);
}

Ticket Latecomers::take_over(int member, const SharedPayload& payload, const Moment& now, const Moment& end) {
  const Ticket newest = gathering_ - 1;
  const Moment has_it = hand_over_(communicator_.rank(giver(member)), communicator_.rank(member), payload, latest(now, end));
  Member& state = members_[member];
  state.next = gathering_;
  state.taken_over = {TakenOver{newest, has_it}, state.taken_over.front()};
  return newest;
}

const Moment* Latecomers::taken_over(int member, Ticket ticket) const {
  for (const std::optional<TakenOver>& taken_over : members_[member].taken_over) {
    if (taken_over && taken_over->ticket == ticket) return &taken_over->end;
  }
  return nullptr;
}

}  // namespace syncopate
