#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <utility>

#include "base/errors.hpp"
#include "base/units.hpp"

namespace syncopate {

/// SimGrid's clock, and the timers of a simulation on it. It adds up differences, so that it may be a rounding error off the times that
/// we compute; those rule.
class Clock {
 public:
  using Timer = simgrid::kernel::timer::Timer;

  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  static Seconds now() { return Seconds(simgrid::s4u::Engine::get_clock()); }

  /// Throws SimulationError when a time is beyond what sums over workers and squares of times can be.
  static void check(Seconds time) {
    constexpr Seconds forever(1e250);
    if (time < forever) return;
    throw SimulationError("an iteration takes longer than any number of seconds can say; a bandwidth is close to 0 or a cost is huge");
  }

  /// Calls `function` when the clock reaches `time`, at once when a rounding error has carried it past that. Calls at the same time
  /// come in no particular order.
  template <class Function>
  Timer* at(Seconds time, Function function) {
    return set(std::max(time, now()).value, std::move(function));
  }

  /// Calls `function` when everything of the clock's instant `time` has happened.
  template <class Function>
  void after(Seconds time, Function function) {
    set(std::nextafter(std::max(time, now()).value, std::numeric_limits<double>::infinity()), std::move(function));
  }

  /// The run is over, its actors are gone: timers that are still set do nothing any more.
  void stop() { is_stopped_ = true; }

 private:
  template <class Function>
  Timer* set(double time, Function function) {
    check(Seconds(time));
    return Timer::set(time, [this, function = std::move(function)]() mutable {
      if (!is_stopped_) function();
    });
  }

  bool is_stopped_ = false;
};

/// What one actor waits for: the only place where an actor is suspended. Lives on the actor's stack.
class Completion {
 public:
  Completion() = default;
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  /// Blocks the calling actor until complete() is called; returns the time given there.
  Seconds wait() {
    if (!is_complete_) {
      actor_ = simgrid::s4u::Actor::self();
      simgrid::s4u::this_actor::suspend();
    }
    return end_;
  }

  /// What was waited for ended at `end`.
  void complete(Seconds end) {
    end_ = end;
    is_complete_ = true;
    if (actor_) actor_->resume();
  }

 private:
  simgrid::s4u::ActorPtr actor_;
  Seconds end_;
  bool is_complete_ = false;
};

}  // namespace syncopate
