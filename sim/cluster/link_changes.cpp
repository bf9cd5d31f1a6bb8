#include "cluster/link_changes.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "base/text.hpp"
#include "cluster/cluster.hpp"
#include "cluster/platform.hpp"
#include "cluster/read_changes.hpp"

namespace syncopate {

namespace {

LinkChanges::Changes read_bandwidths(const Field& profile, double efficiency) {
  LinkChanges::Changes changes;
  read_bandwidth_changes(profile, [&](Seconds time, const Field* value) {
    changes.push_back({time, value == nullptr ? outage : efficiency * value->bandwidth()});
  });
  return changes;
}

bool matches(const std::string& pattern, const std::string& name) { return fnmatch(pattern.c_str(), name.c_str(), 0) == 0; }

bool matches(const std::string& pattern, const Topology::LinkName& link) {
  return matches(pattern, link.name) || matches(pattern, link.cable);
}

/// Throws InputError if no link of the cluster's platform has such a name, or if one has that cannot change.
void require_platform_link(const Field& name, const Platform& platform) {
  bool is_found = false;
  for (const Platform::Link& link : platform.links()) {
    if (!matches(name.text(), link.name) && (link.cable.empty() || !matches(name.text(), link.cable))) continue;
    if (!link.is_shared)
      name.fail_because(
          fmt::format("\"{}\" is a FATPIPE link, whose bandwidth nobody shares and which does not change; use another policy", link.name));
    is_found = true;
  }
  if (is_found) return;
  const std::string first = platform.links().empty() ? "" : fmt::format(" such as \"{}\"", platform.links().front().name);
  name.fail(fmt::format("a link of {}{}, or a pattern that some match", platform.name(), first));
}

/// Likewise for links between switches that messages between nodes cross.
void require_inner_link(const Field& name, const Topology& topology, int nodes) {
  constexpr int most_nodes_looked_up = 2048;  // every pair is
  if (nodes > most_nodes_looked_up)
    name.fail_because(fmt::format("links are not looked up by name among more than {} nodes; use fewer", most_nodes_looked_up));
  std::string example;
  for (int from = 0; from < nodes; ++from) {
    for (int to = 0; to < nodes; ++to) {
      if (from == to) continue;
      for (const InnerLink& link : topology.route(from, to)) {
        const Topology::LinkName its = topology.named(link);
        if (matches(name.text(), its)) return;
        if (example.empty()) example = its.cable;
      }
    }
  }
  if (example.empty())
    name.fail_because(fmt::format("no links between switches join nodes of this {}; use \"node_links\" for their own", topology.name()));
  name.fail(fmt::format("a link between switches of its nodes such as \"{}\", or a pattern that some match", example));
}

}  // namespace

void LinkChanges::scale(double factor) {
  const auto scale = [factor](Changes& changes) {
    for (Change<Rate>& change : changes) change.value = factor * change.value;
  };
  for (auto& [node, changes] : of_nodes) scale(changes);
  for (auto& [name, changes] : of_names) scale(changes);
}

const LinkChanges::Changes* LinkChanges::of(const Topology::LinkName& link) const {
  const auto found = std::find_if(of_names.begin(), of_names.end(), [&](const auto& named) { return matches(named.first, link); });
  return found == of_names.end() ? nullptr : &found->second;
}

void read_node_links(const Field& field, Cluster& cluster) {
  if (!cluster.has_link || !cluster.topology->has_node_links()) field.fail_because("the cluster has no links of nodes; leave it out");
  for (const Field& entry : field.list()) {
    Object fields(entry);
    const Field list = fields.at("nodes");
    const auto chosen = parse_ranges(list.text(), cluster.nodes - 1);
    if (!chosen) list.fail(fmt::format("ascending nodes from 0 to {} such as \"0-3,7\"", cluster.nodes - 1));
    const LinkChanges::Changes changes = read_bandwidths(fields.at("bandwidth_profile"), cluster.link_efficiency);
    fields.finish();
    for (const int node : *chosen) {
      if (!cluster.link_changes.of_nodes.emplace(node, changes).second)
        list.fail_because(fmt::format("node {} is named twice; give it one profile", node));
    }
  }
}

void read_link_profiles(const Field& field, Cluster& cluster) {
  if (cluster.regions) field.fail_because("a cluster with regions has no switches; give the entries of \"wan\" a \"bandwidth_profile\"");
  for (const Field& entry : field.list()) {
    Object fields(entry);
    const Field name = fields.at("link");
    const std::string pattern = name.text();
    if (cluster.platform) {
      require_platform_link(name, *cluster.platform);
    } else {
      require_inner_link(name, *cluster.topology, cluster.nodes);
    }
    cluster.link_changes.of_names.emplace_back(pattern, read_bandwidths(fields.at("bandwidth_profile"), cluster.link_efficiency));
    fields.finish();
  }
}

void leave_out_changes(const Cluster& cluster, Document& document) {
  if (!cluster.link_changes.of_nodes.empty()) document.set(JsonPointer("/cluster/node_links"), Json::array(), "");
  if (!cluster.link_changes.of_names.empty()) document.set(JsonPointer("/cluster/link_profiles"), Json::array(), "");
}

}  // namespace syncopate
