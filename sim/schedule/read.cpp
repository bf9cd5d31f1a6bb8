#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "base/choice.hpp"
#include "base/document.hpp"
#include "base/indexed.hpp"
#include "schedule/schedules.hpp"

namespace syncopate {

namespace {

void check_servers(Object& fields, const Traffic& traffic, const Cluster& cluster) {
  const int servers = traffic.servers->servers;
  if (servers > cluster.nodes) {
    fields.at("servers").fail_because(
        fmt::format("{} servers for {} nodes: with {} the clients' own links are the limit; use at most as many as nodes", servers,
                    cluster.nodes, cluster.nodes));
  }
  if (!traffic.servers_region) return;
  const Field asked = fields.at("servers");
  if (!cluster.regions) asked.fail_because(R"(the cluster has no regions; give the number of servers only, such as "servers": 4)");
  const Region& region = cluster.regions->list[find_region(Object(asked).at("region"), cluster.regions->list)];
  if (traffic.servers->colocated && servers > region.nodes) {
    Object(asked).at("count").fail_because(
        fmt::format("{} servers on the {} nodes of the region {}; use at most as many as nodes, or leave out \"colocated\"", servers,
                    region.nodes, region.name));
  }
}

/// Throws InputError if the cluster cannot carry the schedule's traffic.
void check_traffic(Object& fields, const Traffic& traffic, const Cluster& cluster) {
  for (const StreamTraffic& stream : traffic.streams) {
    const auto unknown = [&](Operation operation) { return operation != Operation::all_reduce && !knows_cost(cluster, operation); };
    if (std::none_of(stream.operations.begin(), stream.operations.end(), unknown)) continue;
    fields.field().fail_because(
        fmt::format("{} also has other collectives than all-reduces, but the cluster's fit is faster than reduce_s_per_B allows, so no "
                    "time is left for them; lower reduce_s_per_B",
                    fields.field().json()["name"].dump()));
  }
  if (traffic.servers) check_servers(fields, traffic, cluster);
}

/// A schedule's name in another tool, and advice what to write here.
struct OtherName {
  std::string_view name;
  std::string_view advice;
};
constexpr std::array other_names = {
    OtherName{"ddp", R"(PyTorch's DDP all-reduces buckets of gradients: that is {"name": "fusion", "bucket": "25MiB"})"},
    OtherName{"hsdp", R"(hybrid sharding is {"name": "fsdp", "shard_group": "node"})"},
    OtherName{"cross-barrier", R"(BytePS's cross-barrier is {"name": "bytescheduler", "rule": "fits"})"},
};

void advise_other_name(const Field& name) {
  if (!name.is_text()) return;
  const auto found = std::find_if(other_names.begin(), other_names.end(), [&](const OtherName& row) { return row.name == name.text(); });
  if (found != other_names.end())
    name.fail_because(fmt::format("{} is not the name of a schedule here; {}", name.json().dump(), found->advice));
}

}  // namespace

bool Traffic::has_partial_collectives() const {
  return std::any_of(streams.begin(), streams.end(), [](const StreamTraffic& row) { return row.rules.is_partial(); });
}

Groups each_node(const RankPlaces& places) {
  Groups groups;
  for (int node = 0; node < places.nodes(); ++node) groups.emplace_back(places.ranks_per_node, node * places.ranks_per_node);
  return groups;
}

Groups each_region(const RankPlaces& places) {
  std::map<std::size_t, std::vector<int>> ranks;
  for (int rank = 0; rank < places.ranks; ++rank) {
    const int node = rank / places.ranks_per_node;
    ranks[places.region_of_node.empty() ? 0 : places.region_of_node[at(node)]].push_back(rank);
  }
  Groups groups;
  for (auto& [region, members] : ranks) groups.emplace_back(std::move(members));
  return groups;
}

Communicator first_ranks(const Groups& groups) {
  std::vector<int> ranks;
  for (const Communicator& group : groups) ranks.push_back(group.rank(0));
  std::sort(ranks.begin(), ranks.end());
  return Communicator(std::move(ranks));
}

Traffic all_reduces(const StreamRules& rules, Operation operation) { return {.streams = {{.operations = {operation}, .rules = rules}}}; }

Schedule read_schedule(const Field& field, const Cluster& cluster) {
  if (field.is_text()) field.fail(fmt::format("an object such as {{\"name\": {}}}", field.json().dump()));
  Object fields(field);
  advise_other_name(fields.at("name"));
  const auto& row = choose<ScheduleRow>(fields.at("name"), schedules());
  Schedule schedule = row.read(fields, cluster);
  schedule.name = row.name;
  check_traffic(fields, schedule.traffic, cluster);
  fields.finish();
  return schedule;
}

}  // namespace syncopate
