#include "engine/latecomers.hpp"

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
      members_(static_cast<std::size_t>(posters)) {}

Ticket Latecomers::next_ticket(int member) const {
  return has_missed(member) ? gathering_ - 1 : members_[static_cast<std::size_t>(member)].next;
}

void Latecomers::post(int member, const Moment& now) {
  const Ticket ticket = members_[static_cast<std::size_t>(member)].next++;
  if (ticket - gathering_ == attendances_.size()) {
    attendances_.emplace_back();
    const Moment due = after(now, deadline_, {.kind = PathClass::host, .worker = communicator_.rank(member)});
    clock_.after(due.time * (1.0 + rounding), [this, ticket, due] {
      if (ticket < gathering_) return;
      attendance(ticket).is_overdue = true;
      consider(ticket, due);
    });
  }
  attendance(ticket).members.push_back(member);
  consider(ticket, now);
}

void Latecomers::consider(Ticket ticket, const Moment& now) {
  Attendance& its = attendance(ticket);
  const std::size_t enough = its.is_overdue ? static_cast<std::size_t>(needed_) : members_.size();
  if (its.may_start || its.members.size() < enough) return;
  its.may_start = true;
  // Whoever comes at this instant is in time, whatever rounding errors say.
  clock_.after(now.time * (1.0 + rounding), [this, now] { may_start_(now); });
}

void Latecomers::start() {
  present_ = std::move(attendances_.front().members);
  std::sort(present_.begin(), present_.end());
  attendances_.pop_front();
  ++gathering_;
}

Ticket Latecomers::take_over(int member, const SharedPayload& payload, const Moment& now, const Moment& end) {
  const auto after_it = std::lower_bound(present_.begin(), present_.end(), member);
  const int from = after_it == present_.begin() ? present_.back() : *std::prev(after_it);
  const Ticket newest = gathering_ - 1;
  const Moment has_it = hand_over_(communicator_.rank(from), communicator_.rank(member), payload, latest(now, end));
  Member& its = members_[static_cast<std::size_t>(member)];
  its = {gathering_, {TakenOver{newest, has_it}, its.taken_over.front()}};
  return newest;
}

const Moment* Latecomers::taken_over(int member, Ticket ticket) const {
  for (const std::optional<TakenOver>& its : members_[static_cast<std::size_t>(member)].taken_over) {
    if (its && its->ticket == ticket) return &its->end;
  }
  return nullptr;
}

}  // namespace syncopate
