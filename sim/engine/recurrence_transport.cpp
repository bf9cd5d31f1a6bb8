#include "engine/recurrence_transport.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace syncopate {

RecurrenceTransport::RecurrenceTransport(int lanes, Communicator communicator, PlannedCollectives& planned, LatencyFactor latency_factor,
                                         bool shortcuts)
    : lanes_(lanes),
      communicator_(std::move(communicator)),
      planned_(planned),
      latency_factor_(std::move(latency_factor)),
      shortcuts_(shortcuts) {}

std::optional<Seconds> RecurrenceTransport::start(const Movement& /*movement*/, int /*lane*/, Seconds /*now*/) {
  throw std::logic_error("a recurrence over a plan has no collectives that start lane by lane");
}

void RecurrenceTransport::foresee(const Movement& movement, std::span<const Seconds> starts, std::span<Seconds> ends) {
  const double latency_factor = latency_factor_(movement.ticket);
  PlannedCollective& collective = planned_(movement.operation, communicator_, movement.bytes);
  if (lanes_ == 1) {
    ends.front() = starts.front() + collective.times().from_equal_starts(movement.bytes, latency_factor);
    return;
  }
  if (!shortcuts_) {
    collective.times()(movement.bytes, latency_factor, starts, ends);
    return;
  }
  const Seconds first = *std::min_element(starts.begin(), starts.end());
  std::vector<Known>& known = known_[{movement.operation, movement.bytes}];
  const Known* same = recall(known, latency_factor, starts, first);
  if (same == nullptr) {
    constexpr std::size_t most_kept = 2;
    if (known.size() == most_kept) known.erase(known.begin());
    Known& found = known.emplace_back(Known{latency_factor, {starts.begin(), starts.end()}, {}});
    for (Seconds& start : found.starts) start -= first;
    found.ends.resize(found.starts.size());
    collective.times()(movement.bytes, latency_factor, found.starts, found.ends);
    same = &found;
  }
  for (std::size_t lane = 0; lane < ends.size(); ++lane) ends[lane] = first + same->ends[lane];
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
