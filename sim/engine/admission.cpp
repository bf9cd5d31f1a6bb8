#include "engine/admission.hpp"

#include <algorithm>

namespace syncopate {

Admission::Admission(int lanes, int channels, bool by_priority)
    : lanes_(static_cast<std::size_t>(lanes)), channels_(channels), by_priority_(by_priority) {}

bool Admission::post(int lane, double priority) {
  const Ticket ticket = lane_at(lane).posted++;
  if (!by_priority_) return false;
  if (ticket == posted_by_.size()) {
    pending_.push_back({ticket, priority});
    posted_by_.push_back(0);
  }
  return ++posted_by_[ticket] == lanes_.size();
}

std::optional<Ticket> Admission::next(int lane) {
  const Lane& its = lane_at(lane);
  if (its.in_flight >= channels_) return std::nullopt;
  Ticket next = its.started;
  if (by_priority_) {
    if (its.started == order_.size()) decide();
    if (its.started == order_.size()) return std::nullopt;
    next = order_[its.started];
  }
  return next < its.posted ? std::optional(next) : std::nullopt;
}

void Admission::decide() {
  if (pending_.empty()) return;
  const auto same = [&](const Pending& one) { return one.priority == pending_.front().priority; };
  auto chosen = pending_.begin();
  if (!std::all_of(pending_.begin(), pending_.end(), same)) {
    // Lanes post in the same order, so that those of all lanes are the first ones.
    const auto posted_by_all =
        std::find_if(pending_.begin(), pending_.end(), [&](const Pending& one) { return posted_by_[one.ticket] < lanes_.size(); });
    chosen = std::min_element(pending_.begin(), posted_by_all, [](const Pending& a, const Pending& b) { return a.priority < b.priority; });
    if (chosen == posted_by_all) return;
  }
  order_.push_back(chosen->ticket);
  pending_.erase(chosen);
}

bool Admission::is_idle_before(int lane, Ticket ticket) const {
  const Lane& its = lane_at(lane);
  if (its.in_flight > 0) return false;
  return by_priority_ ? its.started < order_.size() && order_[its.started] == ticket : its.started == ticket;
}

void Admission::start(int lane) {
  ++lane_at(lane).started;
  ++lane_at(lane).in_flight;
}

void Admission::end(int lane) { --lane_at(lane).in_flight; }

}  // namespace syncopate
