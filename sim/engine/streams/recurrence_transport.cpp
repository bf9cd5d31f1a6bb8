#include "engine/streams/recurrence_transport.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "collective/plan_path.hpp"

namespace syncopate {

RecurrenceTransport::RecurrenceTransport(int lanes, Communicator communicator, PlannedCollectives& planned, LatencyFactor latency_factor,
                                         bool shortcuts)
    : lanes_(lanes),
      communicator_(std::move(communicator)),
      planned_(planned),
      latency_factor_(std::move(latency_factor)),
      shortcuts_(shortcuts) {}

/// A lane has ended a collective. The causes are computed only if somebody asks for them.
class RecurrenceTransport::ForeseenEvent : public Event {
 public:
  ForeseenEvent(Seconds time, RecurrenceTransport& transport, std::shared_ptr<const Foreseen> foreseen, int lane)
      : Event(time, Cause()), transport_(transport), foreseen_(std::move(foreseen)), lane_(lane) {}

  Story tell() const override { return transport_.tell(*foreseen_, lane_, time()); }

 private:
  RecurrenceTransport& transport_;
  std::shared_ptr<const Foreseen> foreseen_;
  int lane_;
};

std::optional<Moment> RecurrenceTransport::start(const Movement& /*movement*/, int /*lane*/, const Moment& /*now*/) {
  throw std::logic_error("a recurrence over a plan has no collectives that start lane by lane");
}

void RecurrenceTransport::foresee(const Movement& movement, const Moments& starts, Moments& ends) {
  if (!has_host()) return play(movement, starts, ends);
  Indexed<Seconds> times;
  Indexed<Cause> causes;
  for (int lane = 0; lane < lanes_; ++lane) {
    Moment start = prepared(movement, lane, starts[lane]);
    times.push_back(start.time);
    if (starts.have_causes()) causes.push_back(std::move(start.cause));
  }
  Moments released;
  released.assign(std::move(times), std::move(causes));
  play(movement, released, ends);
}

void RecurrenceTransport::play(const Movement& movement, const Moments& starts, Moments& ends) {
  const double latency_factor = latency_factor_(movement.ticket);
  Indexed<Seconds> times = this->ends(movement, latency_factor, starts.times());
  Indexed<Cause> causes;
  if (starts.have_causes()) {
    const auto foreseen = std::make_shared<const Foreseen>(Foreseen{movement, latency_factor, starts});
    for (int lane = 0; lane < lanes_; ++lane) {
      const bool takes_time = times[lane] > starts.time(lane);
      causes.push_back(takes_time ? Cause(new ForeseenEvent(times[lane], *this, foreseen, lane)) : starts[lane].cause);
    }
  }
  ends.assign(std::move(times), std::move(causes));
}

Indexed<Seconds> RecurrenceTransport::ends(const Movement& movement, double latency_factor, const std::vector<Seconds>& starts) {
  PlannedCollective& collective = planned_(movement.operation, communicator_, movement.bytes());
  if (lanes_ == 1) return {starts.front() + collective.times().from_equal_starts(movement.bytes(), latency_factor)};
  Indexed<Seconds> ends(starts.size());
  if (!shortcuts_) {
    collective.times()(movement.bytes(), latency_factor, starts, ends);
    return ends;
  }
  const Seconds first = *std::min_element(starts.begin(), starts.end());
  std::vector<Known>& known = known_[{movement.operation, movement.bytes()}];
  const Known* same = recall(known, latency_factor, starts, first);
  if (same == nullptr) {
    constexpr std::size_t most_kept = 2;
    if (known.size() == most_kept) known.erase(known.begin());
    Known& found = known.emplace_back(Known{latency_factor, starts, {}});
    for (Seconds& start : found.starts) start -= first;
    found.ends.resize(found.starts.size());
    collective.times()(movement.bytes(), latency_factor, found.starts, found.ends);
    same = &found;
  }
  for (std::size_t lane = 0; lane < ends.size(); ++lane) ends[lane] = first + same->ends[lane];
  return ends;
}

Event::Story RecurrenceTransport::tell(const Foreseen& foreseen, int lane, Seconds end) {
  const Movement& movement = foreseen.movement;
  PlannedCollective& collective = planned_(movement.operation, communicator_, movement.bytes());
  const Plan folded = lanes_ == 1 ? fold(collective.plan()) : Plan();
  const PlanPath path = find_path(
      lanes_ == 1 ? folded : collective.plan(), [&](int step, int message) { return collective.way(step, message).hop; }, planned_.gamma(),
      movement.bytes(), foreseen.latency_factor, foreseen.starts.times(), lane);
  const Moment start = foreseen.starts[path.origin];

  std::vector<PathPiece> pieces;
  Seconds rest = end - start.time;
  const auto add = [&](const PlanPath::Piece& from, PathClass kind, Seconds length) {
    rest -= length;
    const Message& message = collective.plan().stage(from.step).messages[at(from.message)];
    const int to = communicator_.rank(message.to);
    const Network& network = planned_.network();
    const int sender = communicator_.rank(message.from);
    const int way = kind == PathClass::transfer ? network.narrowest_group(sender, to) : network.group_between(sender, to);
    const int link = kind == PathClass::reduce ? -1 : way;
    const auto same =
        std::find_if(pieces.begin(), pieces.end(), [&](const PathPiece& piece) { return piece.kind == kind && piece.link == link; });
    if (same != pieces.end()) {
      same->length += length;
    } else {
      pieces.push_back({.length = length, .kind = kind, .worker = to, .link = link, .payload = movement.payload});
    }
  };
  for (const PlanPath::Piece& piece : path.pieces) {
    switch (piece.kind) {
      case PlanPath::Kind::transfer: add(piece, PathClass::transfer, piece.length); break;
      case PlanPath::Kind::reduce: add(piece, PathClass::reduce, piece.length); break;
      case PlanPath::Kind::latency:
        add(piece, PathClass::latency, piece.length / foreseen.latency_factor);
        if (foreseen.latency_factor != 1.0) add(piece, PathClass::jitter, piece.length - piece.length / foreseen.latency_factor);
        break;
    }
  }
  const bool is_rounding = std::max(rest, -1.0 * rest) <= 1e3 * rounding * (end - start.time) + rounding * end;
  if (is_rounding && !pieces.empty()) pieces.back().length += rest;
  return {std::move(pieces), start.cause};
}

const RecurrenceTransport::Known* RecurrenceTransport::recall(const std::vector<Known>& known, double latency_factor,
                                                              std::span<const Seconds> starts, Seconds first) {
  // Ends are maxima of sums of the starts, so a rounding error of the starts is not amplified.
  constexpr double rounding_error = 1e-14;
  const Seconds most = rounding_error * first;
  const auto same = std::find_if(known.begin(), known.end(), [&](const Known& candidate) {
    if (candidate.latency_factor != latency_factor) return false;
    for (std::size_t lane = 0; lane < starts.size(); ++lane) {
      const Seconds difference = starts[lane] - first - candidate.starts[lane];
      if (difference > most || -1.0 * difference > most) return false;
    }
    return true;
  });
  return same == known.end() ? nullptr : &*same;
}

}  // namespace syncopate
