#pragma once

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include "base/jitter.hpp"
#include "base/units.hpp"
#include "collective/closed_form.hpp"

namespace syncopate {

/// A new value from a time on.
template <class Value>
struct Change {
  Seconds at;
  Value value;
};

/// The value at `time`: `first`, or that of the last change up to `time`. `changes` are sorted by time.
template <class Value>
Value value_at(Seconds time, Value first, const std::vector<Change<Value>>& changes) {
  const auto later =
      std::upper_bound(changes.begin(), changes.end(), time, [](Seconds now, const auto& change) { return now < change.at; });
  return later == changes.begin() ? first : std::prev(later)->value;
}

constexpr Rate infinite_bandwidth(std::numeric_limits<double>::infinity());

/// A network link between two nodes. `latency` is end to end.
struct Link {
  Rate bandwidth;
  Seconds latency;
  Bytes window{};       ///< > 0: bytes in flight of each connection, as TCP's window; limits its rate to window / rtt
  int connections = 1;  ///< per flow; a flow counts this many times where flows share a link
  /// If set, messages go through object storage: they are uploaded at `bandwidth`; once complete, they are downloaded at this rate.
  std::optional<Rate> download{};
  std::vector<Change<Rate>> bandwidth_changes{};
  std::vector<Change<Seconds>> latency_changes{};
  Jitter jitter{};  ///< on each message's latency

  bool changes_with_time() const { return !bandwidth_changes.empty() || !latency_changes.empty(); }
  /// Maximum rate of a flow over a route of this latency: connections x window / (2 x latency).
  Rate limit(Seconds route_latency) const {
    const bool limits = window > Bytes(0) && route_latency > Seconds(0);
    return limits ? Rate(connections * window.value / (2.0 * route_latency.value)) : infinite_bandwidth;
  }
  /// Rate of a flow that is alone, at time 0. Without storage.
  Rate flow_rate() const { return std::min(bandwidth, limit(latency)); }
  Hop hop() const { return {latency, inverse(flow_rate())}; }
};

}  // namespace syncopate
