#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "engine/clock/actors.hpp"
#include "engine/clock/moment.hpp"

namespace syncopate {

/// Nothing is to happen any more, and the only worker waits.
struct Deadlock {};

/// The clock of a simulation, and what is to happen on it. Workers are actors; where there is one only, it runs on the caller's stack,
/// and time passes while it waits.
class Clock {
 public:
  /// `actors`: those that the workers run as; none for a single one.
  explicit Clock(Actors* actors) : actors_(actors) {}
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  Seconds now() const { return now_; }

  /// Throws SimulationError when a time is beyond what sums over workers and squares of times can be.
  static void check(Seconds time);

  /// Calls `function` when the clock reaches `time`, at once when a rounding error has carried it past that; in the order of these calls
  /// where times are equal.
  void at(Seconds time, std::function<void()> function);

  /// Calls `function` when everything of the clock's instant `time` has happened.
  void after(Seconds time, std::function<void()> function);

  /// With actors: lets time pass until one of them goes on; returns false when nothing is to happen any more.
  bool run_until_actor_goes_on();

  /// The run is over: nothing happens any more.
  void stop();

  // For Completion.

  Actors* actors() const { return actors_; }
  void resume(void* actor);
  /// Without actors: lets time pass until `is_over`. Throws Deadlock when that never comes.
  void run_until(const bool& is_over);

 private:
  struct Event {
    Seconds time;
    std::uint64_t number = 0;
    std::size_t function = 0;  ///< its index

    /// For a heap with the next event on top.
    bool operator<(const Event& other) const { return time != other.time ? time > other.time : number > other.number; }
  };

  void add(Seconds time, std::function<void()> function);
  void run_next_instant();

  Actors* actors_;
  bool is_stopped_ = false;
  bool actor_goes_on_ = false;
  Seconds now_;
  std::uint64_t events_ = 0;
  std::vector<Event> queue_;  ///< a heap
  std::vector<std::function<void()>> functions_;
  std::vector<std::size_t> unused_;  ///< of these
};

/// What one actor waits for: the only place where an actor is suspended. Lives on the actor's stack.
class Completion {
 public:
  explicit Completion(Clock& clock) : clock_(clock) {}
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  /// Blocks the calling actor until complete() is called; returns the moment given there.
  Moment wait() {
    if (is_complete_) return end_;
    if (Actors* const actors = clock_.actors()) {
      actor_ = actors->self();
      actors->suspend();
    } else {
      clock_.run_until(is_complete_);
    }
    return end_;
  }

  /// What was waited for ended at `end`.
  void complete(Moment end) {
    end_ = std::move(end);
    is_complete_ = true;
    if (actor_ != nullptr) clock_.resume(actor_);
  }

 private:
  Clock& clock_;
  void* actor_ = nullptr;  ///< which waits, so that it lives
  Moment end_;
  bool is_complete_ = false;
};

}  // namespace syncopate
