#include "cluster/write_platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "base/errors.hpp"
#include "base/fields.hpp"
#include "base/indexed.hpp"
#include "cluster/alpha_beta.hpp"
#include "cluster/cluster.hpp"
#include "cluster/network.hpp"
#include "cluster/placement.hpp"
#include "cluster/platform.hpp"

namespace syncopate {

namespace {

/// Throws InputError where a link is more than a bandwidth, a latency and a window.
void require_plain(const Cluster& cluster, const Document& document) {
  const auto refuse = [&](const Link& link, const std::string& key) {
    const std::string what = link.download              ? "object storage"
                             : link.connections > 1     ? "several connections"
                             : link.changes_with_time() ? "a link that changes with time"
                             : link.jitter.varies()     ? "a latency that varies"
                                                        : "";
    if (what.empty()) return;
    Field(document, "/" + key, document.root()[key]).fail_because(fmt::format("a platform cannot say {}; leave it out", what));
  };
  for (const char* key : {"node_links", "link_profiles"}) {
    const Json& root = document.root();
    if (root.contains(key) && !root[key].empty())
      Field(document, fmt::format("/{}", key), root[key]).fail_because("a platform cannot say a link that changes with time; leave it out");
  }
  if (cluster.platform && cluster.changes_with_time()) {
    Field(document, "/platform", document.root()["platform"])
        .fail_because("its links change with time, which is not written; leave their profiles out");
  }
  if (!cluster.regions) return refuse(cluster.link, "link");
  if (cluster.has_link) refuse(cluster.link, "link");
  for (const auto& row : cluster.regions->wan) {
    for (const Link& link : row) refuse(link, "wan");
  }
}

class Writer {
 public:
  Writer(const Cluster& cluster, int servers)
      : network_(cluster, 1, {.count = servers}, fastest_region_order(cluster, Bytes(1e6))), nodes_(cluster.nodes) {
    const std::vector<int> places = places_of_nodes(cluster, cluster.nodes, {});
    for (int node = 0; node < network_.nodes(); ++node) {
      const auto own = node < nodes_ ? cluster.topology->own(places[at(node)]) : std::nullopt;
      hosts_ += fmt::format("    <host id=\"{}\" speed=\"{}f\"/>\n", name_of(node), own ? own->speed : 1e9);
    }
    for (int from = 0; from < network_.nodes(); ++from) {
      for (int to = 0; to < network_.nodes(); ++to) {
        if (from != to && (from < nodes_ || to < nodes_)) add_route(from, to);
      }
    }
  }

  std::string xml() const {
    return fmt::format(R"(<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="network" routing="Full">
{}{}{}  </zone>
</platform>
)",
                       hosts_, links_, routes_);
  }

 private:
  std::string name_of(int node) const { return node < nodes_ ? fmt::format("node-{}", node) : fmt::format("server-{}", node - nodes_); }

  void add_link(const std::string& id, Rate bandwidth, Seconds latency, std::string_view policy) {
    links_ += fmt::format("    <link id=\"{}\" bandwidth=\"{}Bps\" latency=\"{}s\" sharing_policy=\"{}\"/>\n", id, bandwidth.value,
                          latency.value, policy);
  }

  std::string link_of(std::size_t number) {
    const NetworkLink link = network_.link(number);
    const std::string id = fmt::format("{}{}", link.cable, link.forward ? "_UP" : "_DOWN");
    if (known_.insert(number).second) add_link(id, link.bandwidth, Seconds(0), "SHARED");
    return id;
  }

  /// The link that gives a route its latency, and its flows their maximum.
  std::string way_of(const Path& path) {
    const Rate limit = std::min(path.limit, unlimited_bandwidth);
    const auto [entry, is_new] = ways_.try_emplace({path.latency, limit}, ways_.size());
    const std::string id = fmt::format("way-{}", entry->second);
    if (is_new) add_link(id, limit, path.latency, "FATPIPE");
    return id;
  }

  void add_route(int from, int to) {
    const Path path = network_.find_path(network_.first_rank(from), network_.first_rank(to));
    routes_ += fmt::format("    <route src=\"{}\" dst=\"{}\" symmetrical=\"NO\">", name_of(from), name_of(to));
    for (const std::size_t link : path.links) routes_ += fmt::format("<link_ctn id=\"{}\"/>", link_of(link));
    routes_ += fmt::format("<link_ctn id=\"{}\"/></route>\n", way_of(path));
  }

  Network network_;
  int nodes_;
  std::string hosts_;
  std::string links_;
  std::string routes_;
  std::set<std::size_t> known_;
  std::map<std::pair<Seconds, Rate>, std::size_t> ways_;
};

}  // namespace

WrittenPlatform write_platform(const Document& document, const std::string& file) {
  const Cluster cluster = read_cluster(document);
  std::error_code ignored;
  if (cluster.platform && std::filesystem::equivalent(file, cluster.platform->name(), ignored))
    throw UsageError(fmt::format("--platform {}: the cluster's own platform; write into another file", file));
  if (cluster.nodes > most_nodes_in_platform) {
    Field(document, "/nodes", document.root()["nodes"])
        .fail_because(fmt::format("a platform of {} nodes has a route for every pair; write one of at most {}", cluster.nodes,
                                  most_nodes_in_platform));
  }
  require_plain(cluster, document);
  const int servers = cluster.regions ? 0 : std::min(cluster.nodes, cluster.topology->places() - cluster.nodes);
  WrittenPlatform written = {Writer(cluster, servers).xml(), {}};
  const std::set<std::string> of_networks = {"link",      "topology", "regions", "wan",      "nics",
                                             "placement", "fit",      "hosts",   "platform", "nodes"};
  for (const auto& item : document.root().items()) {
    if (!of_networks.contains(item.key())) written.cluster[item.key()] = item.value();
  }
  written.cluster["platform"] = std::filesystem::path(file).filename().string();
  written.cluster["nodes"] = cluster.nodes;
  return written;
}

}  // namespace syncopate
