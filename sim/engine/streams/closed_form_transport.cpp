#include "engine/streams/closed_form_transport.hpp"

#include <algorithm>
#include <utility>

namespace syncopate {

namespace {

/// The end of a collective's latency or of its transfer.
class ClosedFormEvent : public Event {
 public:
  ClosedFormEvent(Seconds time, Cause before, Movement movement, bool is_latency, const ClosedFormTransport::Pieces& pieces)
      : Event(time, std::move(before)), movement_(std::move(movement)), is_latency_(is_latency), pieces_(pieces) {}

  Story tell() const override {
    std::vector<PathPiece> pieces = pieces_(movement_);
    std::erase_if(pieces, [this](const PathPiece& piece) { return (piece.kind == PathClass::latency) != is_latency_; });
    Seconds rest = length();
    for (PathPiece& piece : pieces) {
      rest -= piece.length;
      piece.payload = movement_.payload;
    }
    const bool is_jitter = is_latency_ && std::max(rest, -1.0 * rest) > noise();
    if (is_jitter) {
      pieces.push_back({.length = rest, .kind = PathClass::jitter, .payload = movement_.payload});
    } else if (!pieces.empty()) {
      pieces.front().length += rest;
    }
    return {std::move(pieces), before()};
  }

 private:
  Movement movement_;
  bool is_latency_;
  const ClosedFormTransport::Pieces& pieces_;
};

}  // namespace

std::optional<Moment> ClosedFormTransport::start(const Movement& started, int lane, const Moment& now) {
  Movement movement = started;
  const bool ends_now = transferred_.time * (1.0 - rounding) <= now.time && now.time <= transferred_.time * (1.0 + rounding);
  movement.queued = has_moved_ && ends_now;
  has_moved_ = true;
  const CollectiveTime time = cost_(movement);
  const auto part = [&](const Moment& start, Seconds length, bool is_latency) {
    return until_event(start, start.time + length,
                       [&](Seconds end, const Cause& before) { return new ClosedFormEvent(end, before, movement, is_latency, pieces_); });
  };
  transferred_ = part(latest(part(prepared(movement, lane, now), time.latency, true), transferred_), time.transfer, false);
  return transferred_;
}

}  // namespace syncopate
