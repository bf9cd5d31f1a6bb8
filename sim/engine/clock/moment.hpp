#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/indexed.hpp"
#include "base/units.hpp"
#include "timeline/timeline.hpp"

namespace syncopate {

class Event;

/// What ended at some time, and so let something else begin: the last event of a chain that reaches back to the begin of the run. Null
/// where causes are not recorded. A chain lives as long as somebody knows its last event.
class Cause {
 public:
  Cause() = default;
  /// `event`: a new one, which no other cause refers to yet.
  explicit Cause(Event* event) : event_(event) { share(); }
  Cause(const Cause& other) : event_(other.event_) { share(); }
  Cause(Cause&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Cause& operator=(Cause other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  inline ~Cause();

  explicit operator bool() const { return event_ != nullptr; }
  const Event* operator->() const { return event_; }
  const Event& operator*() const { return *event_; }

 private:
  inline void share() const;
  /// Deletes an event that no cause refers to any more, and those before it that no other cause refers to.
  static void forget(Event* event);

  Event* event_ = nullptr;
};

/// A time and, where causes are recorded, what ended then. Engines compute with moments as with times: what waits for several things starts
/// at the latest() of their moments, and what takes a while ends after() its start. So every moment knows the chain of stretches that its
/// time is the sum of. Where causes are not recorded this costs a null pointer.
struct Moment {
  Seconds time;
  Cause cause{};

  Moment() = default;
  /// A moment without a cause.
  explicit Moment(Seconds when) : time(when) {}
  Moment(Seconds when, Cause why) : time(when), cause(std::move(why)) {}

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

  // NOLINTNEXTLINE(misc-new-delete-overloads): it has one, with the size
  static void* operator new(std::size_t bytes);
  static void operator delete(void* event, std::size_t bytes);

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
  /// How far the length may be off by rounding errors, since times are sums.
  Seconds noise() const { return 1e3 * rounding * length() + rounding * time_; }

 private:
  friend class Cause;
  std::uint32_t known_by_ = 0;  ///< how many causes refer to it
  Seconds time_;
  Cause before_;
};

void Cause::share() const {
  if (event_ != nullptr) ++event_->known_by_;
}

Cause::~Cause() {
  if (event_ != nullptr && --event_->known_by_ == 0) forget(event_);
}

/// Why a stretch lasts: one kind of time.
struct Why {
  PathClass kind = PathClass::transfer;
  int worker = -1;
  int link = -1;               ///< see PathPiece
  Seconds usual = Seconds(0);  ///< the mean of a latency that varies, where the rest is jitter; 0: it does not vary
  const SharedPayload* payload = nullptr;
};

/// The end of something that began at `start`; `make(end, cause)` makes its event. If it takes no time there is no event, and it is
/// `start`.
template <class Make>
Moment until_event(const Moment& start, Seconds end, Make&& make) {
  if (!start.cause) return Moment(end);
  return {end, end == start.time ? start.cause : Cause(make(end, start.cause))};
}
Event* make_event(Seconds end, const Cause& before, const Why& why);
inline Moment until(const Moment& start, Seconds end, const Why& why) {
  return until_event(start, end, [&why](Seconds time, const Cause& before) { return make_event(time, before, why); });
}
inline Moment after(const Moment& start, Seconds length, const Why& why) { return until(start, start.time + length, why); }

/// The later one; the first where they are equal.
inline const Moment& latest(const Moment& first, const Moment& second) { return first.time >= second.time ? first : second; }

/// A moment for each lane or member of something. Without causes they take no more memory than their times.
class Moments {
 public:
  Moments() = default;
  explicit Moments(int count) : times_(count) {}

  int size() const { return static_cast<int>(times_.size()); }
  bool have_causes() const { return !causes_.empty(); }
  const std::vector<Seconds>& times() const { return times_; }
  Seconds time(int i) const { return times_[i]; }
  Moment operator[](int i) const { return {times_[i], have_causes() ? causes_[i] : Cause()}; }
  Seconds latest_time() const { return *std::max_element(times_.begin(), times_.end()); }

  /// All become that time, without causes.
  void assign(int count, Seconds time) {
    times_.assign(at(count), time);
    causes_.clear();
  }
  void assign(Indexed<Seconds> times, Indexed<Cause> causes = {}) {
    times_ = std::move(times);
    causes_ = std::move(causes);
  }
  /// Each becomes the later one of two moments, that of `first` where they are equal.
  void assign_latest(const Moments& first, const Moments& second) {
    times_.resize(first.times_.size());
    for (int i = 0; i < size(); ++i) times_[i] = std::max(first.times_[i], second.times_[i]);
    causes_.clear();
    if (!first.have_causes() && !second.have_causes()) return;
    for (int i = 0; i < size(); ++i) causes_.push_back((first.times_[i] >= second.times_[i] ? first : second)[i].cause);
  }
  void set(int i, Moment moment) {
    times_[i] = moment.time;
    if (!moment.cause && !have_causes()) return;
    causes_.resize(times_.size());
    causes_[i] = std::move(moment.cause);
  }

 private:
  Indexed<Seconds> times_;
  Indexed<Cause> causes_;  ///< empty: none has one
};

/// The chain that ends at `end`, back to `begin`, in the order of time; its lengths add up to `end - begin`. Successive pieces of the same
/// collective or message that are of a kind are one. Throws std::logic_error when the chain does not reach back so far.
std::vector<PathPiece> trace_back(const Moment& end, Seconds begin);

/// The end of a stretch whose pieces are known from an earlier one, of another payload; they add up to its length.
Moment ended_as_before(const Moment& start, Seconds end, const std::shared_ptr<const std::vector<PathPiece>>& pieces,
                       const SharedPayload& payload);

}  // namespace syncopate
