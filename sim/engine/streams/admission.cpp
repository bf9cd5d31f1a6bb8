#include "engine/streams/admission.hpp"

namespace syncopate {

Admission::Admission(int lanes, const StreamRules& rules)
    : lanes_(lanes), channels_(rules.channels), by_priority_(rules.by_priority), credit_(rules.credit) {}

bool Admission::post(int lane, double priority, Bytes bytes) {
  const Ticket ticket = lanes_[lane].posted++;
  if (has_credit() && ticket == bytes_.size()) bytes_.push_back(bytes);
  if (!by_priority_) return false;
  if (ticket == posted_.size()) {
    posted_.push_back({priority, 0});
    pending_.insert(ticket);
    ++priorities_[priority];
  }
  if (++posted_[ticket].lanes < lanes_.size()) return false;
  if (pending_.contains(ticket)) ready_.emplace(posted_[ticket].priority, ticket);
  return true;
}

std::optional<Ticket> Admission::next(int lane) {
  const Lane& state = lanes_[lane];
  if (state.in_flight >= channels_) return std::nullopt;
  Ticket next = state.started;
  if (by_priority_) {
    if (state.started == order_.size()) decide(state);
    if (state.started == order_.size()) return std::nullopt;
    next = order_[state.started];
  }
  return next < state.posted && may_start(state, next) ? std::optional(next) : std::nullopt;
}

void Admission::decide(const Lane& lane) {
  if (pending_.empty()) return;
  const bool are_alike = priorities_.size() == 1;
  if (!are_alike && ready_.empty()) return;
  const Ticket chosen = are_alike ? *pending_.begin() : ready_.begin()->second;
  if (!may_start(lane, chosen)) return;
  const double priority = posted_[chosen].priority;
  order_.push_back(chosen);
  pending_.erase(chosen);
  ready_.erase({priority, chosen});
  if (--priorities_[priority] == 0) priorities_.erase(priority);
}

bool Admission::is_idle_before(int lane, Ticket ticket) const {
  const Lane& state = lanes_[lane];
  if (state.in_flight > 0) return false;
  return by_priority_ ? state.started < order_.size() && order_[state.started] == ticket : state.started == ticket;
}

void Admission::start(int lane) {
  Lane& state = lanes_[lane];
  if (has_credit()) state.bytes += bytes_[by_priority_ ? order_[state.started] : state.started];
  ++state.started;
  ++state.in_flight;
}

void Admission::end(int lane, Ticket ticket) {
  Lane& state = lanes_[lane];
  --state.in_flight;
  if (has_credit()) state.bytes = state.in_flight > 0 ? state.bytes - bytes_[ticket] : Bytes(0);
}

}  // namespace syncopate
