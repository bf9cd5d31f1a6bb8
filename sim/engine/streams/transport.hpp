#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "collective/communicator.hpp"
#include "collective/payload.hpp"
#include "engine/clock/moment.hpp"
#include "engine/streams/admission.hpp"

namespace syncopate {

/// What a transport needs to know of a collective.
struct Movement {
  Ticket ticket = 0;
  Operation operation = Operation::all_reduce;
  SharedPayload payload;  ///< the vector
  bool queued = false;    ///< starts the moment another one of the transport ends; known to ClosedFormTransport only

  Bytes bytes() const { return payload->bytes; }
};

/// How the bytes of a stream's collectives move. A lane is a member of the stream's communicator or, where all members start and end
/// together, stands for all.
///
/// | class | how |
/// |---|---|
/// | `ClosedFormTransport` | one event for all ranks, by a closed form |
/// | `RecurrenceTransport` | all ends from all starts, by a recurrence over the plan |
/// | `MessageTransport` | the messages of the plan, event by event |
class Transport {
 public:
  using Ended = std::function<void(Ticket, int lane, const Moment& now)>;

  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  virtual int lanes() const = 0;

  /// A collective starts at a lane at the clock's `now`. Returns when it ends there, if that is known; else ended() is called when it does.
  virtual std::optional<Moment> start(const Movement& movement, int lane, const Moment& now) = 0;
  /// Whether a lane goes on at once when a collective has ended there. Else it goes on after everything else of that instant, so that lanes
  /// that start together are seen to do so.
  virtual bool goes_on_at_once() const = 0;

  /// Whether the transport computes the ends of one collective after the other from its starts, which may lie ahead of the clock. Then
  /// foresee() is called, in the order of the collectives, and start() never.
  virtual bool foresees() const { return false; }
  virtual void foresee(const Movement& /*movement*/, const Moments& /*starts*/, Moments& /*ends*/) {}

  /// All lanes may start the collective now, and nothing else is in flight: returns when it ends everywhere, if that is known. Then start()
  /// is not called for it.
  virtual std::optional<Moment> recall(const Movement& /*movement*/, const Moment& /*now*/) { return std::nullopt; }

  /// Whether a collective takes any time at all.
  virtual bool takes_time(const Movement& /*movement*/) const { return true; }

  /// `ended` is called for ends that were not known at the start.
  void when_ended(Ended ended) { ended_ = std::move(ended); }

  /// From a collective's start at a lane, its host takes that time until the first message goes.
  void prepare_by(const HostTime& host, const Communicator& members) {
    host_ = host;
    members_ = members;
  }

 protected:
  bool has_host() const { return !host_.is_zero(); }
  Seconds host_time(const Movement& movement) const { return has_host() ? host_(*movement.payload, members_.size()) : Seconds(0); }
  /// When the first message of a collective that starts at a lane may go.
  Moment prepared(const Movement& movement, int lane, const Moment& start) const {
    const Seconds time = host_time(movement);
    if (time == Seconds(0)) return start;
    return after(start, time, {.kind = PathClass::host, .worker = members_.rank(lane), .payload = &movement.payload});
  }
  void ended(Ticket ticket, int lane, const Moment& now) const { ended_(ticket, lane, now); }

 private:
  Ended ended_;
  HostTime host_;
  Communicator members_ = Communicator(1);
};

/// The factor on the latencies of a collective.
using LatencyFactor = std::function<double(Ticket)>;

}  // namespace syncopate
