#include "cluster/regions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>

#include "base/choice.hpp"
#include "base/document.hpp"
#include "base/indexed.hpp"
#include "base/text.hpp"
#include "cluster/read_changes.hpp"

namespace syncopate {

namespace {

constexpr std::size_t most_regions = 256;
constexpr int most_nodes_of_region = 65536;

/// Reads one bandwidth for both directions, or {"up", "down"}. Up is from the first region of "between" to the second, or out of a region.
std::pair<Rate, Rate> read_bandwidths(const Field& field) {
  if (!field.is_object()) return {field.bandwidth(), field.bandwidth()};
  Object fields(field);
  const std::pair<Rate, Rate> both = {fields.at("up").bandwidth(), fields.at("down").bandwidth()};
  fields.finish();
  return both;
}

Uplink read_uplink(const Field& field) {
  Object fields(field);
  const auto [up, down] = read_bandwidths(fields.at("bandwidth"));
  const auto efficiency = fields.find("efficiency");
  const double share = efficiency ? read_efficiency(*efficiency) : 1.0;
  fields.finish();
  return {share * up, share * down};
}

/// Spreads nodes over regions by their shares, at least one each: the next node is for the region that lacks most, the first of several.
void spread(int nodes, const std::vector<double>& shares, std::vector<Region>& regions) {
  for (Region& region : regions) region.nodes = 1;
  for (int left = nodes - static_cast<int>(regions.size()); left > 0; --left) {
    std::size_t next = 0;
    const auto lacking = [&](std::size_t i) { return shares[i] * nodes - regions[i].nodes; };
    constexpr double rounding = 1e-9;
    for (std::size_t i = 1; i < regions.size(); ++i) {
      if (lacking(i) > lacking(next) + rounding) next = i;
    }
    ++regions[next].nodes;
  }
}

/// The shares of the nodes, of regions without numbers of nodes of their own: equal ones by default.
std::vector<double> read_shares(const Field& field) {
  std::vector<double> shares;
  for (const Field& entry : field.list()) {
    if (const auto share = Object(entry).find("share")) shares.push_back(share->positive(1.0));
  }
  const std::size_t count = field.list().size();
  if (shares.empty()) return std::vector<double>(count, 1.0 / static_cast<double>(count));
  if (shares.size() < count) field.fail_because(R"(some regions have a "share" of the nodes and others not; give each one, or none)");
  constexpr double rounding = 1e-6;
  if (const double sum = std::accumulate(shares.begin(), shares.end(), 0.0); std::abs(sum - 1.0) > rounding)
    field.fail_because(fmt::format("the regions' shares add up to {}, not to 1; change them", rounded(sum, 6)));
  return shares;
}

std::vector<Region> read_region_list(const Field& field, int nodes) {
  std::vector<Region> regions;
  std::size_t fixed = 0;
  for (const Field& entry : field.list()) {
    Object fields(entry);
    const Field name = fields.at("name");
    Region region = {name.name()};
    const auto share = fields.find("share");
    if (const auto own = fields.find("nodes")) {
      if (share) share->fail_because(R"(the region has a number of "nodes" already; leave one of them out)");
      region.nodes = static_cast<int>(own->integer(1, most_nodes_of_region));
      ++fixed;
    }
    if (const auto uplink = fields.find("uplink")) region.uplink = read_uplink(*uplink);
    if (const auto uplink = fields.find("node_uplink")) region.node_uplink = read_uplink(*uplink);
    fields.finish();
    const bool twice = std::any_of(regions.begin(), regions.end(), [&](const Region& second) { return second.name == region.name; });
    if (twice) name.fail_because(fmt::format("there are two regions \"{}\"; rename one", region.name));
    regions.push_back(region);
  }
  if (regions.size() < 2 || regions.size() > most_regions) field.fail(fmt::format("a list of 2 to {} regions", most_regions));
  if (fixed == regions.size()) return regions;
  if (fixed > 0) field.fail_because(R"(some regions have a number of "nodes" and others not; give it to all, or to none)");
  if (nodes < static_cast<int>(regions.size())) {
    field.fail_because(
        fmt::format("{} nodes for {} regions: each needs one; use at least {}, or fewer regions", nodes, regions.size(), regions.size()));
  }
  spread(nodes, read_shares(field), regions);
  return regions;
}

/// Fails if the link has no bandwidth of its own, which is allowed between regions with uplinks.
void need_bandwidth(const Field& field, const Link& link) {
  if (std::isinf(link.bandwidth.value)) field.fail_because("the link has no \"bandwidth\" of its own; add one");
}

struct ViaRow {
  std::string_view name;
};
constexpr std::array vias = {ViaRow{"object-storage"}};

void read_via(const Field& field, Link& up, Link& down) {
  need_bandwidth(field, up);
  std::pair<Rate, Rate> downloads = {up.bandwidth, down.bandwidth};
  if (field.is_object()) {
    Object fields(field);
    choose<ViaRow>(fields.at("name"), vias);
    if (const auto download = fields.find("download")) downloads = read_bandwidths(*download);
    fields.finish();
  } else {
    choose<ViaRow>(field, vias);
  }
  std::tie(up.download, down.download) = downloads;
}

/// Data that moves by object storage has no end-to-end connection, so a link with "via" has none of its properties.
void refuse_with_via(Object& fields) {
  for (const char* const key : {"tcp_window", "connections", "bandwidth_profile"}) {
    if (!fields.field().json().contains(key)) continue;
    fields.at(key).fail_because(fmt::format("a transfer by object storage has no \"{}\"; leave it or \"via\" out", key));
  }
}

/// Reads the optional keys of a link between regions, for both directions.
void read_more(Object& fields, Link& up, Link& down) {
  if (const auto via = fields.find("via")) {
    read_via(*via, up, down);
    refuse_with_via(fields);
  }
  if (const auto window = fields.find("tcp_window")) up.window = down.window = window->bytes();
  if (const auto connections = fields.find("connections")) up.connections = down.connections = read_connections(*connections);
  if (const auto jitter = fields.find("latency_jitter")) up.jitter = down.jitter = read_jitter(*jitter);
  if (const auto profile = fields.find("bandwidth_profile")) {
    need_bandwidth(*profile, up);
    read_bandwidth_changes(*profile, [&](Seconds time, const Field* value) {
      const auto [up_bandwidth, down_bandwidth] = value == nullptr ? std::pair(outage, outage) : read_bandwidths(*value);
      up.bandwidth_changes.push_back({time, up_bandwidth});
      down.bandwidth_changes.push_back({time, down_bandwidth});
    });
  }
  if (const auto profile = fields.find("rtt_profile")) {
    read_changes(*profile, "rtt", [&](Seconds time, const Field& value) { up.latency_changes.push_back({time, value.latency() / 2.0}); });
    down.latency_changes = up.latency_changes;
  }
  if (const auto efficiency = fields.find("efficiency")) {
    need_bandwidth(*efficiency, up);
    const double share = read_efficiency(*efficiency);
    for (Link* link : {&up, &down}) {
      link->bandwidth = share * link->bandwidth;
      if (link->download) link->download = share * *link->download;
      for (Change<Rate>& change : link->bandwidth_changes) change.value = share * change.value;
    }
  }
}

}  // namespace

double read_efficiency(const Field& field) {
  constexpr double least = 1e-6;
  constexpr double most = 1.0;
  return field.number(least, most);
}

int read_connections(const Field& field) {
  constexpr int most = 1024;
  return static_cast<int>(field.integer(1, most));
}

std::size_t find_region(const Field& field, const std::vector<Region>& regions) {
  const std::string name = field.text();
  std::vector<std::string> names;
  names.reserve(regions.size());
  for (const Region& region : regions) names.push_back(region.name);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    field.fail_because(fmt::format("\"{}\" is not one of the regions {}{}", name, fmt::join(names, ", "), did_you_mean(name, names)));
  }
  return static_cast<std::size_t>(found - names.begin());
}

int Regions::nodes() const {
  return std::accumulate(list.begin(), list.end(), 0, [](int sum, const Region& region) { return sum + region.nodes; });
}

std::pair<Rate, Rate> Regions::bandwidths(std::size_t from, std::size_t to) const {
  const Region& source = list[from];
  const Region& target = list[to];
  const Link& link = wan[from][to];
  return {std::min({source.node_uplink.up, source.uplink.up, link.bandwidth}),
          std::min({link.download.value_or(infinite_bandwidth), target.uplink.down, target.node_uplink.down})};
}

Rate Regions::flow_rate(std::size_t from, std::size_t to) const {
  const auto [out, in] = bandwidths(from, to);
  const Link& link = wan[from][to];
  return link.download ? in_sequence(out, in) : std::min({out, in, link.limit(link.latency)});
}

bool Regions::is_symmetric() const {
  for (std::size_t a = 0; a < list.size(); ++a) {
    for (std::size_t b = a + 1; b < list.size(); ++b) {
      if (flow_rate(a, b) != flow_rate(b, a)) return false;
    }
  }
  return true;
}

bool Regions::change_with_time() const {
  return std::any_of(wan.begin(), wan.end(), [](const std::vector<Link>& row) {
    return std::any_of(row.begin(), row.end(), [](const Link& link) { return link.changes_with_time(); });
  });
}

Regions read_regions(const Field& regions_field, const Field& wan_field, int nodes) {
  Regions regions;
  regions.list = read_region_list(regions_field, nodes);
  const std::size_t count = regions.list.size();
  regions.wan.assign(count, std::vector<Link>(count));
  std::vector<std::vector<bool>> known(count, std::vector<bool>(count));
  for (const Field& entry : wan_field.list()) {
    Object fields(entry);
    const Field between = fields.at("between");
    const std::vector<Field> pair = between.list();
    if (pair.size() != 2) between.fail("two names of regions");
    const std::size_t a = find_region(pair[0], regions.list);
    const std::size_t b = find_region(pair[1], regions.list);
    if (a == b) between.fail("two different regions");
    if (known[a][b]) between.fail_because(fmt::format("{} and {} already have a link; keep one", pair[0].text(), pair[1].text()));
    known[a][b] = known[b][a] = true;
    const Seconds round_trip = fields.at("rtt").latency();
    const bool needs_bandwidth = !regions.list[a].has_uplinks() || !regions.list[b].has_uplinks();
    const auto bandwidth = needs_bandwidth ? fields.at("bandwidth") : fields.find("bandwidth");
    const auto rates = bandwidth ? read_bandwidths(*bandwidth) : std::pair(infinite_bandwidth, infinite_bandwidth);
    Link& forward = regions.wan[a][b] = {rates.first, round_trip / 2.0};
    Link& backward = regions.wan[b][a] = {rates.second, round_trip / 2.0};
    read_more(fields, forward, backward);
    fields.finish();
  }
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = a + 1; b < count; ++b) {
      if (known[a][b]) continue;
      wan_field.fail_because(fmt::format(R"(no link between the regions {0} and {1}; add {{"between": ["{0}", "{1}"], "rtt": ..., )"
                                         R"("bandwidth": ...}})",
                                         regions.list[a].name, regions.list[b].name));
    }
  }
  return regions;
}

std::vector<std::size_t> regions_of_nodes(const Regions& regions, const std::vector<std::size_t>& order) {
  std::vector<std::size_t> of_nodes;
  of_nodes.reserve(at(regions.nodes()));
  for (const std::size_t region : order) of_nodes.insert(of_nodes.end(), at(regions.list[region].nodes), region);
  return of_nodes;
}

}  // namespace syncopate
