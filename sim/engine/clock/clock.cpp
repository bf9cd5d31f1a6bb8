#include "engine/clock/clock.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/errors.hpp"

namespace syncopate {

namespace {

Seconds just_after(Seconds time) { return Seconds(std::nextafter(time.value, std::numeric_limits<double>::infinity())); }

}  // namespace

void Clock::check(Seconds time) {
  constexpr Seconds forever(1e250);
  if (time < forever) return;
  throw SimulationError("the simulated time is no longer finite; a bandwidth is close to 0 or a cost is huge");
}

void Clock::at(Seconds time, std::function<void()> function) { add(std::max(time, now()), std::move(function)); }

void Clock::after(Seconds time, std::function<void()> function) { add(just_after(std::max(time, now())), std::move(function)); }

void Clock::stop() {
  is_stopped_ = true;
  queue_.clear();
}

void Clock::add(Seconds time, std::function<void()> function) {
  check(time);
  if (is_stopped_) return;
  if (unused_.empty()) {
    unused_.push_back(functions_.size());
    functions_.emplace_back();
  }
  functions_[unused_.back()] = std::move(function);
  queue_.push_back({time, events_++, unused_.back()});
  unused_.pop_back();
  std::push_heap(queue_.begin(), queue_.end());
  if (call_at_ && !is_advancing_ && queue_.front().number == events_ - 1) call_at_(time);
}

void Clock::advance(Seconds now) {
  now_ = std::max(now_, now);
  is_advancing_ = true;
  while (!queue_.empty() && queue_.front().time <= now_) {
    std::pop_heap(queue_.begin(), queue_.end());
    const std::function<void()> function = std::exchange(functions_[queue_.back().function], nullptr);
    unused_.push_back(queue_.back().function);
    queue_.pop_back();
    function();
  }
  is_advancing_ = false;
  if (call_at_ && !queue_.empty()) call_at_(queue_.front().time);
}

bool Clock::run_until_actor_goes_on() {
  actor_goes_on_ = false;
  while (!actor_goes_on_ && !queue_.empty()) run_next_instant();
  return actor_goes_on_;
}

void Clock::resume(void* actor) {
  actor_goes_on_ = true;
  actors_->resume(actor);
}

void Clock::run_until(const bool& is_over) {
  while (!is_over) {
    if (queue_.empty()) throw Deadlock();
    run_next_instant();
  }
}

}  // namespace syncopate
