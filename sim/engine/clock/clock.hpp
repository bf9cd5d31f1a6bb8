#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "engine/clock/actors.hpp"
#include "engine/clock/moment.hpp"

namespace syncopate {

/// Thrown when no event is left, and the only worker waits.
struct Deadlock {};

/// The clock of a simulation, with its queue of events. Workers are actors; a single worker runs on the caller's stack, and time passes
/// while it waits.
class Clock {
 public:
  /// `actors`: those that the workers run as; null for a single worker.
  explicit Clock(Actors* actors) : actors_(actors) {}
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  Seconds now() const { return now_; }

  /// Throws SimulationError when a time is so large that sums over workers or squares of times overflow.
  static void check(Seconds time);

  /// Calls `function` when the clock reaches `time`; as the next event if a rounding error has carried the clock past that. Functions of
  /// equal times are called in the order of these calls.
  void at(Seconds time, std::function<void()> function);

  /// Calls `function` when everything of the clock's instant `time` has happened.
  void after(Seconds time, std::function<void()> function);

  /// SimGrid's clock leads: `call_at` is called with the time of each event that is to be the next one; whoever lets time pass then calls
  /// advance() at that time.
  void follow(std::function<void(Seconds)> call_at) { call_at_ = std::move(call_at); }
  /// Carries the clock to `now`, with the events until then.
  void advance(Seconds now);

  /// With actors: lets time pass until one of them goes on; returns false when no event is left.
  bool run_until_actor_goes_on();

  /// The run is over: drops all events.
  void stop();

  // For Completion:

  Actors* actors() const { return actors_; }
  void resume(void* actor);
  /// Without actors: lets time pass until `is_over`. Throws Deadlock when that never comes.
  void run_until(const bool& is_over);

 private:
  struct Event {
    Seconds time;
    std::uint64_t number = 0;
    std::size_t function = 0;  ///< index into functions_

    /// For a heap with the next event on top.
    bool operator<(const Event& other) const { return time != other.time ? time > other.time : number > other.number; }
  };

  void add(Seconds time, std::function<void()> function);
  void run_next_instant() { advance(queue_.front().time); }

  Actors* actors_;
  std::function<void(Seconds)> call_at_;
  bool is_stopped_ = false;
  bool is_advancing_ = false;
  bool actor_goes_on_ = false;
  Seconds now_;
  std::uint64_t events_ = 0;
  std::vector<Event> queue_;  ///< a heap
  std::vector<std::function<void()>> functions_;
  std::vector<std::size_t> unused_;  ///< places in functions_
};

/// Something that an actor waits for: the only place where an actor is suspended. Lives on the actor's stack.
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

  /// Ends the wait, with `end` as its moment.
  void complete(Moment end) {
    end_ = std::move(end);
    is_complete_ = true;
    if (actor_ != nullptr) clock_.resume(actor_);
  }

 private:
  Clock& clock_;
  void* actor_ = nullptr;  ///< the actor that waits
  Moment end_;
  bool is_complete_ = false;
};

}  // namespace syncopate
