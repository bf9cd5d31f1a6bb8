#include "cluster/platform_topology.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "base/document.hpp"
#include "base/errors.hpp"
#include "base/files.hpp"
#include "base/indexed.hpp"
#include "cluster/cluster.hpp"

namespace syncopate {

namespace {

constexpr std::string_view upwards = "_UP";
constexpr std::string_view downwards = "_DOWN";

/// A few hosts' names, for a message.
std::string some_hosts(const Platform& platform) {
  constexpr std::size_t most_named = 6;
  std::string names;
  for (std::size_t i = 0; i < std::min(most_named, platform.hosts().size()); ++i) {
    names += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", platform.hosts()[i].name);
  }
  return platform.hosts().size() > most_named ? names + ", ..." : names;
}

std::vector<int> named_hosts(const Field& nodes, const Platform& platform) {
  std::map<std::string, int> numbers;
  for (std::size_t i = 0; i < platform.hosts().size(); ++i) numbers[platform.hosts()[i].name] = static_cast<int>(i);
  std::vector<int> chosen;
  for (const Field& name : nodes.list()) {
    const auto found = numbers.find(name.text());
    if (found == numbers.end()) name.fail(fmt::format("a host of {} ({})", platform.name(), some_hosts(platform)));
    if (std::find(chosen.begin(), chosen.end(), found->second) != chosen.end())
      name.fail_because(fmt::format("{} is listed twice", excerpt(name.json())));
    chosen.push_back(found->second);
  }
  return chosen;
}

/// The hosts that are nodes, in their order.
std::vector<int> chosen_hosts(const Field& nodes, const Platform& platform) {
  if (nodes.is_list()) return named_hosts(nodes, platform);
  std::vector<int> chosen;
  const auto count = static_cast<int>(platform.hosts().size());
  if (!nodes.is_text()) {
    constexpr std::int64_t most = std::numeric_limits<int>::max();
    const std::int64_t wanted = nodes.integer(1, most);
    if (wanted > count)
      nodes.fail_because(fmt::format("{} has {} hosts for {} nodes; use at most {}", platform.name(), count, wanted, count));
    chosen.resize(static_cast<std::size_t>(wanted));
    std::iota(chosen.begin(), chosen.end(), 0);
    return chosen;
  }
  for (int host = 0; host < count; ++host) {
    if (fnmatch(nodes.text().c_str(), platform.hosts()[at(host)].name.c_str(), 0) == 0) chosen.push_back(host);
  }
  if (chosen.empty()) nodes.fail(fmt::format("a pattern that some host of {} matches ({})", platform.name(), some_hosts(platform)));
  return chosen;
}

/// By node: how many times the first node's time it computes.
std::vector<double> slowness_of(const Field& speeds, const Platform& platform, const std::vector<int>& hosts, int nodes) {
  std::vector<double> slowness;
  for (int node = 0; node < nodes; ++node) {
    const Platform::Host& host = platform.hosts()[at(hosts[at(node)])];
    if (!(host.speed > 0.0 && std::isfinite(host.speed))) {
      speeds.fail_because(fmt::format("host \"{}\" of {} has a speed of {}; give it one above 0", host.name, platform.name(), host.speed));
    }
    slowness.push_back(platform.hosts()[at(hosts.front())].speed / host.speed);
  }
  return slowness;
}

/// The slowest link that neighbours in a ring of the nodes would have.
Link slowest_neighbours(const Topology& topology, int nodes) {
  Link link = {infinite_bandwidth, Seconds(0)};
  for (int node = 0; node < nodes; ++node) {
    const int next = (node + 1) % nodes;
    if (next == node) break;
    const auto figures = topology.figures(node, next);
    link.bandwidth = std::min(link.bandwidth, figures->rate);
    link.latency = std::max(link.latency, figures->latency);
  }
  return link;
}

}  // namespace

std::string PlatformTopology::advice(int nodes) const { return fmt::format("a platform of {} hosts", nodes); }

const Platform::Route& PlatformTopology::route_of(int from, int to) const { return platform_->route(hosts_[at(from)], hosts_[at(to)]); }

std::vector<InnerLink> PlatformTopology::route(int from, int to) const {
  std::vector<InnerLink> links;
  for (const int link : route_of(from, to).links) {
    if (platform_->links()[at(link)].is_shared) links.push_back({link, link, true});
  }
  return links;
}

std::optional<Topology::RouteFigures> PlatformTopology::figures(int from, int to) const {
  const Platform::Route& route = route_of(from, to);
  RouteFigures figures = {latency_ * route.latency, infinite_bandwidth, infinite_bandwidth};
  for (const int number : route.links) {
    const Rate bandwidth = bandwidth_of(number);
    if (bandwidth >= unlimited_bandwidth) continue;
    figures.rate = std::min(figures.rate, bandwidth);
    if (!platform_->links()[at(number)].is_shared) figures.limit = std::min(figures.limit, bandwidth);
  }
  return figures;
}

std::optional<Rate> PlatformTopology::bandwidth(const InnerLink& link) const { return bandwidth_of(link.lower); }

std::shared_ptr<const Topology> PlatformTopology::scaled(double bandwidth, double latency) const {
  return std::make_shared<PlatformTopology>(platform_, hosts_, bandwidth * bandwidth_, latency * latency_);
}

std::optional<Topology::LinkName> PlatformTopology::link_name(const InnerLink& link) const {
  const std::string& name = platform_->links()[at(link.lower)].name;
  if (name.ends_with(upwards)) return LinkName{name, name.substr(0, name.size() - upwards.size()), true};
  if (name.ends_with(downwards)) return LinkName{name, name.substr(0, name.size() - downwards.size()), false};
  return LinkName{name, name, true, true};
}

std::optional<std::string> PlatformTopology::place_name(int place) const { return platform_->hosts()[at(hosts_[at(place)])].name; }

Json platform_content(const Field& platform) {
  const std::filesystem::path folder = std::filesystem::path(platform.document().file_at(platform.pointer())).parent_path();
  const std::filesystem::path file = (folder / platform.text()).lexically_normal();
  try {
    constexpr std::size_t most_bytes = std::size_t{64} << 20U;
    return {{"file", file.string()}, {"xml", read_file(file, most_bytes)}};
  } catch (const InputError& error) {
    platform.fail_because(fmt::format("{} (paths are relative to the file that names the platform)", error.what()));
  }
}

void place_on_platform(const Field& platform, const Field& nodes, const std::optional<Field>& speeds, Cluster& cluster) {
  const Json content = platform.is_object() ? platform.json() : platform_content(platform);
  if (content.size() != 2 || !content.contains("file") || !content.contains("xml") || !content["file"].is_string() ||
      !content["xml"].is_string()) {
    platform.fail(R"(the name of a SimGrid platform, such as "room.xml")");
  }
  const auto xml = content["xml"].get<std::string>();
  for (const std::string_view word :
       {"bandwidth_file=", "latency_file=", "availability_file=", "speed_file=", "state_file=", "<trace", "<include"}) {
    const std::size_t place = xml.find(word);
    if (place == std::string::npos) continue;
    const auto line = 1 + std::count(xml.begin(), xml.begin() + static_cast<std::ptrdiff_t>(place), '\n');
    platform.fail_because(
        fmt::format("{}:{}: \"{}\": profiles and other files are not taken; leave it out", content["file"].get<std::string>(), line, word));
  }
  try {
    cluster.platform = shared_platform(xml, content["file"].get<std::string>());
    std::vector<int> hosts = chosen_hosts(nodes, *cluster.platform);
    cluster.nodes = static_cast<int>(hosts.size());
    std::vector<bool> is_node(cluster.platform->hosts().size());
    for (const int host : hosts) is_node[at(host)] = true;
    for (std::size_t host = 0; host < is_node.size(); ++host) {
      if (!is_node[host]) hosts.push_back(static_cast<int>(host));
    }
    if (speeds && speeds->boolean()) cluster.slowness = slowness_of(*speeds, *cluster.platform, hosts, cluster.nodes);
    cluster.topology = std::make_shared<PlatformTopology>(cluster.platform, std::move(hosts));
    cluster.link = slowest_neighbours(*cluster.topology, cluster.nodes);
  } catch (const PlatformError& error) {
    platform.fail_because(error.what());
  }
}

void order_by_distance(const Field& placement, Cluster& cluster) {
  constexpr int most_ordered = 1024;  // every pair is looked up
  if (cluster.nodes > most_ordered) {
    placement.fail_because(fmt::format("an order of {} nodes takes too long to find; use at most {}, or list the \"nodes\" in their order",
                                       cluster.nodes, most_ordered));
  }
  const auto& topology = dynamic_cast<const PlatformTopology&>(*cluster.topology);
  const auto distance = [&](int from, int to) {
    const Topology::RouteFigures figures = *topology.figures(from, to);
    return std::tuple(figures.latency, topology.route(from, to).size(), -figures.rate.value);
  };
  std::vector<int> left(at(cluster.nodes - 1));
  std::iota(left.begin(), left.end(), 1);
  std::vector<int> order = {0};
  while (!left.empty()) {
    const auto nearest =
        std::min_element(left.begin(), left.end(), [&](int a, int b) { return distance(order.back(), a) < distance(order.back(), b); });
    order.push_back(*nearest);
    left.erase(nearest);
  }
  std::vector<int> hosts = topology.hosts();
  std::vector<double> slowness = cluster.slowness;
  for (int node = 0; node < cluster.nodes; ++node) {
    hosts[at(node)] = topology.hosts()[at(order[at(node)])];
    if (!slowness.empty()) slowness[at(node)] = cluster.slowness[at(order[at(node)])];
  }
  cluster.slowness = std::move(slowness);
  cluster.topology = std::make_shared<PlatformTopology>(cluster.platform, std::move(hosts));
  cluster.link = slowest_neighbours(*cluster.topology, cluster.nodes);
}

}  // namespace syncopate
