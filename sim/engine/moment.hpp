#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "timeline/timeline.hpp"

namespace syncopate {

class Event;

/// What ended at some time, and so let something else begin: the last event of a chain that reaches back to the begin of the run. Null
/// where causes are not recorded. A chain lives as long as somebody knows its last event.
class Cause {
 public:
  Cause() = default;
  /// Of an event that nobody else knows yet.
  explicit Cause(Event* event) : event_(event) { share(); }
  Cause(const Cause& other) : event_(other.event_) { share(); }
  Cause(Cause&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Cause& operator=(Cause other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~Cause() {
    if (event_ != nullptr) release();
  }

  explicit operator bool() const { return event_ != nullptr; }
  const Event* operator->() const { return event_; }
  const Event& operator*() const { return *event_; }

 private:
  inline void share() const;
  void release();

  Event* event_ = nullptr;
};

/// A time and, where causes are recorded, what ended then. Engines compute with moments as they would with times: what starts when
/// several things have ended starts at the latest of these moments, and what takes a while ends after() it. So every time knows the chain
/// of stretches that it is the sum of, at a null pointer's cost where nobody wants to know.
struct Moment {
  Seconds time;
  Cause cause{};

  Moment() = default;
  /// One without a cause.
  explicit Moment(Seconds its_time) : time(its_time) {}
  Moment(Seconds its_time, Cause its_cause) : time(its_time), cause(std::move(its_cause)) {}

  /// The begin of a run whose causes are recorded.
  static Moment origin();
};

/// The end of a stretch that ended at its time: why it lasted.
class Event {
 public:
  Event(Seconds time, Cause before) : time_(time), before_(std::move(before)) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  virtual ~Event() = default;

  Seconds time() const { return time_; }

  /// The stretch in pieces, which add up to its length.
  struct Story {
    std::vector<PathPiece> pieces;
    Cause before;  ///< what ended when the stretch began
  };
  virtual Story tell() const { return {{}, before_}; }

 protected:
  const Cause& before() const { return before_; }
  Seconds length() const { return before_ ? time_ - before_->time() : Seconds(0); }
  /// The length may be off by that, as times are sums.
  Seconds noise() const { return 1e3 * rounding * length() + rounding * time_; }

 private:
  friend class Cause;
  std::uint32_t known_by_ = 0;  ///< causes
  Seconds time_;
  Cause before_;
};

void Cause::share() const {
  if (event_ != nullptr) ++event_->known_by_;
}

/// A stretch of one kind.
struct Why {
  PathClass kind = PathClass::transfer;
  int worker = -1;
  int link = -1;               ///< see PathPiece
  Seconds usual = Seconds(0);  ///< of a latency that varies, its mean: the rest is jitter; 0: it does not
  const SharedPayload* payload = nullptr;
};

/// Something that began at `start` ended at `end`. Nothing does that takes no time: then it is `start`.
Moment until(const Moment& start, Seconds end, const Why& why);
inline Moment after(const Moment& start, Seconds length, const Why& why) { return until(start, start.time + length, why); }
/// The same, of an event that `make(end, cause)` makes.
template <class Make>
Moment until_event(const Moment& start, Seconds end, Make&& make) {
  if (!start.cause || end == start.time) return {end, start.cause};
  return {end, Cause(make(end, start.cause))};
}

/// The later one; the first where they are equal.
inline const Moment& latest(const Moment& first, const Moment& second) { return first.time >= second.time ? first : second; }

/// The chain that ends at `end`, back to `begin`, in the order of time; its lengths add up to `end - begin`. Successive pieces of the same
/// collective or message that are of a kind are one. Throws std::logic_error when the chain does not reach back so far.
std::vector<PathPiece> trace_back(const Moment& end, Seconds begin);

/// A stretch that is known piece by piece from another time; `pieces` add up to its length.
Moment ended_as_before(const Moment& start, Seconds end, const std::shared_ptr<const std::vector<PathPiece>>& pieces);

}  // namespace syncopate
