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
      members_(static_cast<std::size_t>(posters)) {}

Ticket Latecomers::next_ticket(int member) const {
  return has_missed(member) ? gathering_ - 1 : members_[static_cast<std::size_t>(member)].next;
}

bool Latecomers::takes_part(int member, Ticket ticket) const {
  return ticket + 1 != gathering_ || std::binary_search(present_.begin(), present_.end(), member);
}

bool Latecomers::is_expected(int member) const {
  const Ticket next = members_[static_cast<std::size_t>(member)].next;
  return next < gathering_ + attendances_.size();
}

void Latecomers::leave(int member, int needed, const Moment& now) {
  needed_ = needed;
  Member& its = members_[static_cast<std::size_t>(member)];
  its.is_there = false;
  for (Ticket ticket = gathering_; ticket < gathering_ + attendances_.size(); ++ticket) {
    if (ticket >= its.next) --attendance(ticket).awaited;
    consider(ticket, now);
  }
}

void Latecomers::join(int member, int needed) {
  needed_ = needed;
  Member& its = members_[static_cast<std::size_t>(member)];
  its.is_there = true;
  for (Ticket ticket = std::max(its.next, gathering_); ticket < gathering_ + attendances_.size(); ++ticket) ++attendance(ticket).awaited;
}

void Latecomers::post(int member, const Moment& now) {
  const Ticket ticket = members_[static_cast<std::size_t>(member)].next++;
  if (ticket - gathering_ == attendances_.size()) {
    const auto there = std::count_if(members_.begin(), members_.end(), [](const Member& one) { return one.is_there; });
    attendances_.push_back({.members = {}, .awaited = static_cast<int>(there)});
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

bool Latecomers::are_enough(const Attendance& its) const {
  return its.awaited == 0 || (its.is_overdue && its.members.size() >= static_cast<std::size_t>(needed_));
}

void Latecomers::consider(Ticket ticket, const Moment& now) {
  if (attendance(ticket).may_start || !are_enough(attendance(ticket))) return;
  // What else happens at this instant counts, whatever rounding errors say: posts, also of those who first look who else has posted, and
  // comings and goings.
  clock_.after(now.time * (1.0 + 2 * rounding), [this, ticket, now] {
    if (ticket < gathering_ || attendance(ticket).may_start || !are_enough(attendance(ticket))) return;
    attendance(ticket).may_start = true;
    may_start_(now);
  });
}

void Latecomers::start() {
  present_ = std::move(attendances_.front().members);
  std::sort(present_.begin(), present_.end());
  attendances_.pop_front();
  ++gathering_;
}

int Latecomers::giver(int to) const {
  std::vector<int> givers;
  std::copy_if(present_.begin(), present_.end(), std::back_inserter(givers),
               [this](int one) { return members_[static_cast<std::size_t>(one)].is_there; });
  if (givers.empty()) givers = present_;
  const auto after_it = std::lower_bound(givers.begin(), givers.end(), to);
  return after_it == givers.begin() ? givers.back() : *std::prev(after_it);
}

Ticket Latecomers::take_over(int member, const SharedPayload& payload, const Moment& now, const Moment& end) {
  const Ticket newest = gathering_ - 1;
  const Moment has_it = hand_over_(communicator_.rank(giver(member)), communicator_.rank(member), payload, latest(now, end));
  Member& its = members_[static_cast<std::size_t>(member)];
  its.next = gathering_;
  its.taken_over = {TakenOver{newest, has_it}, its.taken_over.front()};
  return newest;
}

const Moment* Latecomers::taken_over(int member, Ticket ticket) const {
  for (const std::optional<TakenOver>& its : members_[static_cast<std::size_t>(member)].taken_over) {
    if (its && its->ticket == ticket) return &its->end;
  }
  return nullptr;
}

}  // namespace syncopate
