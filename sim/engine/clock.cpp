#include "engine/clock.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <simgrid/s4u/Engine.hpp>
#include <utility>

#include "base/errors.hpp"

namespace syncopate {

namespace {

Seconds just_after(Seconds time) { return Seconds(std::nextafter(time.value, std::numeric_limits<double>::infinity())); }

Seconds simgrid_now() { return Seconds(simgrid::s4u::Engine::get_clock()); }

}  // namespace

Seconds Clock::now() const { return moves_flows() ? simgrid_now() : now_; }

void Clock::check(Seconds time) {
  constexpr Seconds forever(1e250);
  if (time < forever) return;
  throw SimulationError("an iteration takes longer than any number of seconds can say; a bandwidth is close to 0 or a cost is huge");
}

void Clock::at(Seconds time, std::function<void()> function) { add(std::max(time, now()), std::move(function)); }

void Clock::after(Seconds time, std::function<void()> function) { add(just_after(std::max(time, now())), std::move(function)); }

void Clock::stop() {
  is_stopped_ = true;
  queue_.clear();
  if (timer_ != nullptr) std::exchange(timer_, nullptr)->remove();
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
  if (!is_running_ && has_actors()) set_timer();
}

void Clock::set_timer() {
  if (queue_.empty()) return;
  const Seconds next = queue_.front().time;
  if (timer_ != nullptr && timer_at_ <= next) return;
  if (timer_ != nullptr) timer_->remove();
  // Whoever can run does so before SimGrid's clock goes on, and after what is to happen at its time.
  timer_at_ = moves_flows() ? next : std::max(next, just_after(simgrid_now()));
  timer_ = simgrid::kernel::timer::Timer::set(timer_at_.value, [this] {
    timer_ = nullptr;
    run();
  });
}

void Clock::run() {
  is_running_ = true;
  actor_goes_on_ = false;
  if (moves_flows()) {
    run_events(std::max(timer_at_, simgrid_now()));
  } else {
    while (!actor_goes_on_ && !queue_.empty()) run_next_instant();
  }
  is_running_ = false;
  set_timer();
}

void Clock::run_events(Seconds instant) {
  while (!queue_.empty() && queue_.front().time <= instant) {
    std::pop_heap(queue_.begin(), queue_.end());
    const std::function<void()> function = std::exchange(functions_[queue_.back().function], nullptr);
    unused_.push_back(queue_.back().function);
    queue_.pop_back();
    function();
  }
}

void Clock::run_next_instant() {
  now_ = std::max(now_, queue_.front().time);
  run_events(now_);
}

void Clock::run_until(const bool& is_over) {
  while (!is_over) {
    if (queue_.empty()) throw Deadlock();
    run_next_instant();
  }
}

void Clock::let_others_run() const {
  if (has_actors()) simgrid::s4u::this_actor::yield();
}

}  // namespace syncopate
