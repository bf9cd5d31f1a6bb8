#pragma once

#include <cstdint>
#include <functional>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u/Actor.hpp>
#include <vector>

#include "base/units.hpp"

namespace syncopate {

/// What SimGrid does in a simulation: nothing, where there is one worker only, which then runs on the caller's stack; it runs workers as
/// actors; it also moves flows.
enum class SimGridPart { nothing, actors, flows };

/// Nothing is to happen any more, and the only worker waits.
struct Deadlock {};

/// The clock of a simulation, and what is to happen on it. Where SimGrid moves flows, it is SimGrid's own; that adds up differences, so
/// that it may be a rounding error off the times that we compute; those rule. Else the clock goes on from event to event by itself until
/// one of them lets a worker go on.
class Clock {
 public:
  explicit Clock(SimGridPart simgrid) : simgrid_(simgrid) {}
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  Seconds now() const;

  /// Throws SimulationError when a time is beyond what sums over workers and squares of times can be.
  static void check(Seconds time);

  /// Calls `function` when the clock reaches `time`, at once when a rounding error has carried it past that; in the order of these calls
  /// where times are equal.
  void at(Seconds time, std::function<void()> function);

  /// Calls `function` when everything of the clock's instant `time` has happened.
  void after(Seconds time, std::function<void()> function);

  /// Other workers that can go on at this instant do.
  void let_others_run() const;

  // For Completion.

  bool has_actors() const { return simgrid_ != SimGridPart::nothing; }
  /// An actor is about to go on: it comes before what is to happen later.
  void let_actor_run() { actor_goes_on_ = true; }
  /// Without actors: lets time pass until `is_over`. Throws Deadlock when that never comes.
  void run_until(const bool& is_over);

  /// The run is over, its actors are gone: nothing happens any more.
  void stop();

 private:
  struct Event {
    Seconds time;
    std::uint64_t number = 0;
    std::size_t function = 0;  ///< its index

    /// For a heap with the next event on top.
    bool operator<(const Event& other) const { return time != other.time ? time > other.time : number > other.number; }
  };

  void add(Seconds time, std::function<void()> function);
  void set_timer();
  void run();
  /// Everything until an instant of SimGrid's clock, or of the next event.
  void run_events(Seconds instant);
  void run_next_instant();
  bool moves_flows() const { return simgrid_ == SimGridPart::flows; }

  SimGridPart simgrid_;
  bool is_stopped_ = false;
  bool is_running_ = false;
  bool actor_goes_on_ = false;
  Seconds now_;  ///< without flows
  std::uint64_t events_ = 0;
  std::vector<Event> queue_;  ///< a heap
  std::vector<std::function<void()>> functions_;
  std::vector<std::size_t> unused_;                 ///< of these
  simgrid::kernel::timer::Timer* timer_ = nullptr;  ///< SimGrid's, at the next event
  Seconds timer_at_;
};

/// What one actor waits for: the only place where an actor is suspended. Lives on the actor's stack.
class Completion {
 public:
  explicit Completion(Clock& clock) : clock_(clock) {}
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  /// Blocks the calling actor until complete() is called; returns the time given there.
  Seconds wait() {
    if (!is_complete_ && !clock_.has_actors()) clock_.run_until(is_complete_);
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
    if (actor_ == nullptr) return;
    clock_.let_actor_run();
    actor_->resume();
  }

 private:
  Clock& clock_;
  simgrid::s4u::Actor* actor_ = nullptr;  ///< which waits, so that it lives
  Seconds end_;
  bool is_complete_ = false;
};

}  // namespace syncopate
