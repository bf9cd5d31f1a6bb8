#include "engine/recurrence_transport.hpp"

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

/// A lane has ended a collective; why is computed when somebody asks.
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

void RecurrenceTransport::foresee(const Movement& movement, std::span<const Moment> starts, std::span<Moment> ends) {
  starts_.clear();
  for (const Moment& start : starts) starts_.push_back(start.time);
  ends_.resize(starts.size());
  const double latency_factor = latency_factor_(movement.ticket);
  foresee(movement, latency_factor);
  const auto foreseen =
      starts.front().cause ? std::make_shared<const Foreseen>(Foreseen{movement, latency_factor, {starts.begin(), starts.end()}}) : nullptr;
  for (std::size_t lane = 0; lane < ends.size(); ++lane) {
    ends[lane] = Moment(ends_[lane]);
    if (foreseen == nullptr) continue;
    const bool takes_time = ends_[lane] > starts_[lane];
    ends[lane].cause = takes_time ? Cause(new ForeseenEvent(ends_[lane], *this, foreseen, static_cast<int>(lane))) : starts[lane].cause;
  }
}

void RecurrenceTransport::foresee(const Movement& movement, double latency_factor) {
  PlannedCollective& collective = planned_(movement.operation, communicator_, movement.bytes());
  if (lanes_ == 1) {
    ends_.front() = starts_.front() + collective.times().from_equal_starts(movement.bytes(), latency_factor);
    return;
  }
  if (!shortcuts_) {
    collective.times()(movement.bytes(), latency_factor, starts_, ends_);
    return;
  }
  const Seconds first = *std::min_element(starts_.begin(), starts_.end());
  std::vector<Known>& known = known_[{movement.operation, movement.bytes()}];
  const Known* same = recall(known, latency_factor, starts_, first);
  if (same == nullptr) {
    constexpr std::size_t most_kept = 2;
    if (known.size() == most_kept) known.erase(known.begin());
    Known& found = known.emplace_back(Known{latency_factor, starts_, {}});
    for (Seconds& start : found.starts) start -= first;
    found.ends.resize(found.starts.size());
    collective.times()(movement.bytes(), latency_factor, found.starts, found.ends);
    same = &found;
  }
  for (std::size_t lane = 0; lane < ends_.size(); ++lane) ends_[lane] = first + same->ends[lane];
}

Event::Story RecurrenceTransport::tell(const Foreseen& foreseen, int lane, Seconds end) {
  const Movement& movement = foreseen.movement;
  PlannedCollective& collective = planned_(movement.operation, communicator_, movement.bytes());
  const Plan folded = lanes_ == 1 ? fold(collective.plan()) : Plan();
  std::vector<Seconds> starts;
  starts.reserve(foreseen.starts.size());
  for (const Moment& start : foreseen.starts) starts.push_back(start.time);
  const PlanPath path = find_path(
      lanes_ == 1 ? folded : collective.plan(), [&](int step, int message) { return collective.way(step, message).hop; }, planned_.gamma(),
      movement.bytes(), foreseen.latency_factor, starts, lane);
  const Moment& start = foreseen.starts[static_cast<std::size_t>(path.origin)];

  std::vector<PathPiece> pieces;
  Seconds rest = end - start.time;
  const auto add = [&](const PlanPath::Piece& from, PathClass kind, Seconds length) {
    const Message& message = collective.plan().stage(from.step).messages[static_cast<std::size_t>(from.message)];
    const int to = communicator_.rank(message.to);
    const int link = kind == PathClass::reduce ? -1 : planned_.network().group_between(communicator_.rank(message.from), to);
    pieces.push_back({.length = length, .kind = kind, .worker = to, .link = link, .payload = movement.payload});
    rest -= length;
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
  if (!pieces.empty()) pieces.back().length += rest;  // rounding
  return {std::move(pieces), start.cause};
}

const RecurrenceTransport::Known* RecurrenceTransport::recall(const std::vector<Known>& known, double latency_factor,
                                                              std::span<const Seconds> starts, Seconds first) {
  // Times are sums of maxima: starts that differ by a rounding error give ends that differ by no more.
  constexpr double one_rounding = 1e-14;
  const Seconds most = one_rounding * first;
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
