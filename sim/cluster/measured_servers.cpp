#include "cluster/measured_servers.hpp"

#include <algorithm>

#include "base/statistics.hpp"

namespace syncopate {

namespace {

constexpr double half = 0.5;
constexpr double scatter = 0.05;  // of a latency: less cannot be told from it

/// Whether the last time is that of bytes, not of a latency.
bool grows(const std::vector<MeasuredTime>& times) { return times.back().time >= 2.0 * times.front().time; }

}  // namespace

double overlap_of(const MeasuredServers& measured, std::size_t index) {
  const Seconds push = measured.push[index].time;
  const Seconds pull = measured.pull[index].time;
  return std::clamp((push + pull - measured.both[index].time) / std::min(push, pull), 0.0, 1.0);
}

ServerTimes conclude(const MeasuredServers& measured) {
  ServerTimes times;
  times.is_long_enough = grows(measured.push) && grows(measured.pull) && grows(measured.both);
  if (!times.is_long_enough) return times;
  std::vector<double> overlaps;
  for (std::size_t i = 0; i < measured.both.size(); ++i) {
    if (measured.both[i].time >= half * measured.both.back().time) overlaps.push_back(overlap_of(measured, i));
  }
  std::sort(overlaps.begin(), overlaps.end());
  times.overlap = quantile(overlaps, half);
  times.duplex = times.overlap >= half;
  const CostLine push = line_through(measured.push);
  const CostLine pull = line_through(measured.pull);
  const double clients_per_server = static_cast<double>(measured.clients) / measured.servers;
  times.link = Rate(std::max(1.0, clients_per_server) / pull.b.value);
  times.work = std::max(SecondsPerByte(0), (push.b - pull.b) / clients_per_server);
  const Seconds latencies = 2.0 * measured.latency;
  const Seconds more = push.a + pull.a - latencies;
  if (more > scatter * latencies) times.per_message = more / (2.0 * measured.clients);
  return times;
}

}  // namespace syncopate
