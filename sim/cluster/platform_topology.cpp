#include "cluster/platform_topology.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "base/document.hpp"
#include "base/errors.hpp"
#include "base/files.hpp"
#include "base/indexed.hpp"
#include "cluster/cluster.hpp"
#include "cluster/platform_profiles.hpp"

namespace syncopate {

namespace {

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

std::vector<int> hosts_like(const Field& pattern, const Platform& platform) {
  std::vector<int> chosen;
  for (int host = 0; host < static_cast<int>(platform.hosts().size()); ++host) {
    if (fnmatch(pattern.text().c_str(), platform.hosts()[at(host)].name.c_str(), 0) == 0) chosen.push_back(host);
  }
  if (chosen.empty()) pattern.fail(fmt::format("a pattern that some host of {} matches ({})", platform.name(), some_hosts(platform)));
  return chosen;
}

std::vector<int> hosts_of(const Field& names_or_pattern, const Platform& platform) {
  return names_or_pattern.is_list() ? named_hosts(names_or_pattern, platform) : hosts_like(names_or_pattern, platform);
}

/// The hosts that may be nodes, in their order. Without `hosts`, `nodes` may say them, too.
std::vector<int> listed_hosts(const PlatformKeys& keys, const Platform& platform) {
  const bool nodes_are_hosts = keys.nodes && (keys.nodes->is_list() || keys.nodes->is_text());
  if (nodes_are_hosts && keys.hosts) keys.nodes->fail_because(R"(a number of the "hosts" is meant; leave one of them out)");
  if (nodes_are_hosts) return hosts_of(*keys.nodes, platform);
  if (keys.hosts) return hosts_of(*keys.hosts, platform);
  std::vector<int> all(platform.hosts().size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// How many of the listed hosts are nodes.
int count_nodes(const std::optional<Field>& nodes, const Platform& platform, std::size_t listed) {
  if (!nodes || nodes->is_list() || nodes->is_text()) return static_cast<int>(listed);
  const std::int64_t wanted = nodes->integer(1, std::numeric_limits<int>::max());
  if (wanted > static_cast<std::int64_t>(listed))
    nodes->fail_because(fmt::format("{} has {} hosts for {} nodes; use at most {}", platform.name(), listed, wanted, listed));
  return static_cast<int>(wanted);
}

/// Appends those that are not listed.
void add_others(const Platform& platform, std::vector<int>& hosts) {
  std::vector<bool> is_listed(platform.hosts().size());
  for (const int host : hosts) is_listed[at(host)] = true;
  for (int host = 0; host < static_cast<int>(is_listed.size()); ++host) {
    if (!is_listed[at(host)]) hosts.push_back(host);
  }
}

/// The first word of `words` that the platform has outside comments, with the line where it stands; `words` that end in '=' may have spaces
/// before that.
std::optional<std::pair<std::string_view, long>> find_any(const std::string& xml, std::span<const std::string_view> words) {
  const std::string text = without_comments(xml);
  for (const std::string_view word : words) {
    const bool is_attribute = word.ends_with('=');
    const std::string_view name = is_attribute ? word.substr(0, word.size() - 1) : word;
    for (std::size_t place = 0; (place = text.find(name, place)) != std::string::npos; place += name.size()) {
      const std::size_t next = text.find_first_not_of(" \t\r\n", place + name.size());
      if (is_attribute && (next == std::string::npos || text[next] != '=')) continue;
      return std::pair(word, 1 + static_cast<long>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(place), '\n')));
    }
  }
  return std::nullopt;
}

/// The link of this id, which has a profile. Throws PlatformError if there is none.
const Platform::Link& of_profile(const std::string& id, const Platform& platform) {
  const auto is_it = [&](const Platform::Link& link) { return link.name == id || link.cable == id; };
  const auto found = std::find_if(platform.links().begin(), platform.links().end(), is_it);
  if (found == platform.links().end())
    throw PlatformError(fmt::format("{}: a profile is of link \"{}\", which is not there; use the id of a link", platform.name(), id));
  return *found;
}

void require_shared(const std::string& id, const Platform::Link& link, const Platform& platform) {
  if (link.is_shared) return;
  throw PlatformError(
      fmt::format("{}: link \"{}\": the bandwidth of a FATPIPE link does not change; leave its profile out, or use another "
                  "sharing_policy",
                  platform.name(), id));
}

/// The pattern that this name alone matches.
std::string pattern_of(const std::string& name) {
  std::string pattern;
  for (const char letter : name) {
    if (std::string_view("*?[\\").find(letter) != std::string_view::npos) pattern += '\\';
    pattern += letter;
  }
  return pattern;
}

void require_speeds(const Field& field, const Cluster& cluster) {
  for (int node = 0; node < cluster.nodes; ++node) {
    const Topology::Place host = *cluster.topology->own(node);
    if (host.speed > 0.0 && std::isfinite(host.speed)) continue;
    field.fail_because(
        fmt::format("host \"{}\" of {} has a speed of {}; give it one above 0", host.name, cluster.platform->name(), host.speed));
  }
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

void set_hosts(Cluster& cluster, std::vector<int> hosts) {
  cluster.topology = std::make_shared<PlatformTopology>(cluster.platform, std::move(hosts));
  cluster.link = slowest_neighbours(*cluster.topology, cluster.nodes);
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
    const bool is_shared = platform_->links()[at(number)].is_shared;
    const auto times = is_shared ? std::count(route.links.begin(), route.links.end(), number) : 1;
    const Rate bandwidth = bandwidth_of(number) / static_cast<double>(times);
    if (bandwidth >= unlimited_bandwidth) continue;
    figures.rate = std::min(figures.rate, bandwidth);
    if (!is_shared || times > 1) figures.limit = std::min(figures.limit, bandwidth);
  }
  return figures;
}

std::vector<Change<Seconds>> PlatformTopology::latency_changes(int from, int to, const LinkChanges& changes) const {
  if (changes.latencies.empty()) return {};
  const Platform::Route& route = route_of(from, to);
  std::vector<std::pair<Seconds, const LinkChanges::Latencies*>> changing;  // and what the link has at first
  std::set<Seconds> times;
  for (const int number : route.links) {
    const Platform::Link& link = platform_->links()[at(number)];
    const auto own = changes.latencies.find(link.name);
    const auto found = own == changes.latencies.end() ? changes.latencies.find(link.cable) : own;
    if (found == changes.latencies.end()) continue;
    changing.emplace_back(link.latency, &found->second);
    for (const Change<Seconds>& change : found->second) times.insert(change.at);
  }
  std::vector<Change<Seconds>> all;
  for (const Seconds time : times) {
    Seconds latency = route.latency;  // which may be more than that of its links
    for (const auto& [first, later] : changing) latency += value_at(time, first, *later) - first;
    all.push_back({time, latency_ * std::max(Seconds(0), latency)});
  }
  return all;
}

std::optional<Rate> PlatformTopology::bandwidth(const InnerLink& link) const { return bandwidth_of(link.lower); }

std::shared_ptr<const Topology> PlatformTopology::scaled(double bandwidth, double latency) const {
  return std::make_shared<PlatformTopology>(platform_, hosts_, bandwidth * bandwidth_, latency * latency_);
}

std::optional<Topology::LinkName> PlatformTopology::link_name(const InnerLink& link) const {
  const Platform::Link& own = platform_->links()[at(link.lower)];
  if (own.cable.empty()) return LinkName{own.name, own.name, true, true};
  return LinkName{own.name, own.cable, own.name.ends_with("_UP")};
}

std::optional<Topology::Place> PlatformTopology::own(int place) const {
  const Platform::Host& host = platform_->hosts()[at(hosts_[at(place)])];
  return Place{host.name, host.speed};
}

Json platform_hosts(const Cluster& cluster, const std::vector<int>& nodes) {
  Json names = Json::array();
  for (const int node : nodes) names.push_back(cluster.topology->own(node)->name);
  return names;
}

Json platform_hosts(const Cluster& cluster) {
  std::vector<int> nodes(at(cluster.nodes));
  std::iota(nodes.begin(), nodes.end(), 0);
  return platform_hosts(cluster, nodes);
}

Json platform_content(const Field& platform) {
  const std::filesystem::path folder = std::filesystem::path(platform.document().file_at(platform.pointer())).parent_path();
  const std::filesystem::path file = (folder / platform.text()).lexically_normal();
  try {
    constexpr std::size_t most_bytes = std::size_t{64} << 20U;
    Json content = {{"file", file.string()}, {"xml", read_file(file, most_bytes)}};
    for (const std::string& profile : profile_files(content["xml"].get<std::string>()))
      content["profiles"][profile] = read_file(file.parent_path() / profile, most_bytes);
    return content;
  } catch (const InputError& error) {
    platform.fail_because(fmt::format("{} (paths are relative to the file that names the platform)", error.what()));
  }
}

void place_on_platform(const Field& platform, const PlatformKeys& keys, Cluster& cluster) {
  const Json content = platform.is_object() ? platform.json() : platform_content(platform);
  const Json profiles = content.is_object() ? content.value("profiles", Json::object()) : Json();
  const auto is_text = [&](const char* key) { return content.contains(key) && content[key].is_string(); };
  const bool is_content = is_text("file") && is_text("xml") && content.size() == (content.contains("profiles") ? 3 : 2) &&
                          profiles.is_object() &&
                          std::all_of(profiles.begin(), profiles.end(), [](const Json& text) { return text.is_string(); });
  if (!is_content) platform.fail(R"(the name of a SimGrid platform, such as "room.xml")");
  const auto file = content["file"].get<std::string>();
  const auto xml = content["xml"].get<std::string>();
  static constexpr std::array<std::string_view, 4> other_files = {"availability_file=", "speed_file=", "state_file=", "<include"};
  if (const auto found = find_any(xml, other_files)) {
    platform.fail_because(
        fmt::format("{}:{}: \"{}\": of profiles only those of bandwidths and latencies are taken, and no other files; leave it out", file,
                    found->second, found->first));
  }
  try {
    const PlatformProfiles taken = take_profiles(xml, file, [&](const std::string& name) { return profiles.value(name, std::string()); });
    cluster.platform = shared_platform(taken.xml, file);
    for (const auto& [link, changes] : taken.bandwidths) {
      require_shared(link, of_profile(link, *cluster.platform), *cluster.platform);
      cluster.link_changes.of_names.emplace_back(pattern_of(link), changes);
    }
    for (const auto& [link, changes] : taken.latencies) {
      of_profile(link, *cluster.platform);
      cluster.link_changes.latencies.emplace(link, changes);
    }
    std::vector<int> hosts = listed_hosts(keys, *cluster.platform);
    cluster.nodes = count_nodes(keys.nodes, *cluster.platform, hosts.size());
    add_others(*cluster.platform, hosts);
    set_hosts(cluster, std::move(hosts));
    cluster.has_host_speeds = keys.speeds && keys.speeds->boolean();
    if (cluster.has_host_speeds) require_speeds(*keys.speeds, cluster);
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
  std::transform(order.begin(), order.end(), hosts.begin(), [&](int node) { return topology.hosts()[at(node)]; });
  set_hosts(cluster, std::move(hosts));
}

}  // namespace syncopate
