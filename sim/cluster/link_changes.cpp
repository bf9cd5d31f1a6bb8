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

/// Throws InputError if the cluster's platform has no link of such a name whose bandwidth can change.
void require_platform_link(const Field& name, const Platform& platform) {
  const auto is_named = [&](const Platform::Link& link) {
    return matches(name.text(), link.name) || (!link.cable.empty() && matches(name.text(), link.cable));
  };
  const std::vector<Platform::Link>& links = platform.links();
  if (std::any_of(links.begin(), links.end(), [&](const Platform::Link& link) { return link.is_shared && is_named(link); })) return;
  if (const auto alone = std::find_if(links.begin(), links.end(), is_named); alone != links.end())
    name.fail_because(fmt::format("the bandwidth of \"{}\", a FATPIPE link, does not change; leave it out", alone->name));
  const std::string first = links.empty() ? "" : fmt::format(" such as \"{}\"", links.front().name);
  name.fail(fmt::format("a link of {}{}, or a pattern that some match", platform.name(), first));
}

/// Throws InputError if no link between switches has such a name.
void require_inner_link(const Field& name, const Topology& topology, int nodes) {
  constexpr int most_places = 2048;  // every pair is looked up
  if (nodes > most_places)
    name.fail_because(fmt::format("links are not looked up by name among more than {} nodes; use fewer", most_places));
  const int places = topology.places() <= most_places ? topology.places() : nodes;
  std::string example;
  for (int from = 0; from < places; ++from) {
    for (int to = 0; to < places; ++to) {
      if (from == to) continue;
      for (const InnerLink& link : topology.route(from, to)) {
        const Topology::LinkName its = topology.named(link);
        if (matches(name.text(), its)) return;
        if (example.empty()) example = its.cable;
      }
    }
  }
  if (example.empty()) {
    name.fail_because(fmt::format("this {} has no links between switches; use \"node_links\" for those of nodes", topology.name()));
  }
  name.fail(fmt::format("a link between switches of a {} of {} places such as \"{}\", or a pattern that some match", topology.name(),
                        places, example));
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
  auto& of_names = cluster.link_changes.of_names;
  const auto of_file = static_cast<std::ptrdiff_t>(of_names.size());  // the platform's own, which come last
  for (const Field& entry : field.list()) {
    Object fields(entry);
    const Field name = fields.at("link");
    const std::string pattern = name.text();
    if (cluster.platform) {
      require_platform_link(name, *cluster.platform);
    } else {
      require_inner_link(name, *cluster.topology, cluster.nodes);
    }
    of_names.emplace_back(pattern, read_bandwidths(fields.at("bandwidth_profile"), cluster.link_efficiency));
    fields.finish();
  }
  std::rotate(of_names.begin(), of_names.begin() + of_file, of_names.end());
}

void leave_out_changes(const Cluster& cluster, Document& document) {
  if (!cluster.link_changes.of_nodes.empty()) document.set(JsonPointer("/cluster/node_links"), Json::array(), "");
  if (!cluster.link_changes.of_names.empty()) document.set(JsonPointer("/cluster/link_profiles"), Json::array(), "");
}

}  // namespace syncopate
