#include "cluster/measured_servers.hpp"

#include <algorithm>

#include "base/statistics.hpp"

namespace syncopate {

namespace {

constexpr double half = 0.5;
constexpr double scatter = 0.05;  // of what one client takes: less cannot be told from it

/// Of what takes time for its bytes.
SecondsPerByte slope_of(const std::vector<MeasuredTime>& times) {
  constexpr double large = 0.25;
  const MeasuredTime& last = times.back();
  std::vector<double> slopes;
  for (std::size_t i = times.size() - 1; i-- > 0 && (slopes.empty() || times[i].time >= large * last.time);)
    slopes.push_back((last.time - times[i].time).value / (last.bytes - times[i].bytes).value);
  std::sort(slopes.begin(), slopes.end());
  const double slope = quantile(slopes, half);
  return slope > 0.0 ? SecondsPerByte(slope) : line_through(times).b;
}

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
  const SecondsPerByte push = slope_of(measured.push);
  const SecondsPerByte pull = slope_of(measured.pull);
  const double clients_per_server = static_cast<double>(measured.clients) / measured.servers;
  times.link = Rate(std::max(1.0, clients_per_server) / pull.value);
  times.work = std::max(SecondsPerByte(0), (push - pull) / clients_per_server);
  if (!measured.of_one || measured.clients == 1) return times;
  const auto [push_of_one, pull_of_one] = *measured.of_one;
  const double further = measured.clients - 1.0;
  const MeasuredTime& smallest = measured.push.front();
  const SecondsPerByte of_links = 2.0 * (1.0 - std::min(1.0, 1.0 / clients_per_server)) * pull;  // one client alone may fill its own link
  const SecondsPerByte of_work = further / measured.clients * std::max(SecondsPerByte(0), push - pull);
  const Seconds of_bytes = (of_links + of_work) * smallest.bytes;
  const Seconds more = smallest.time + measured.pull.front().time - push_of_one - pull_of_one - of_bytes;
  if (more > scatter * (push_of_one + pull_of_one)) times.per_message = more / (2.0 * further);
  return times;
}

}  // namespace syncopate
