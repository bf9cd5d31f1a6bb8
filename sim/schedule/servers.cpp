#include "schedule/servers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/readers.hpp"

namespace syncopate {

void require_star(const Object& fields, const Cluster& cluster) {
  if (!cluster.regions) return;
  fields.field().fail_because(
      fmt::format("{} sends messages between single nodes, and on regions only all-reduces are simulated; use a cluster with one \"link\", "
                  "or a schedule of all-reduces such as dts",
                  fields.field().json()["name"].dump()));
}

namespace {

ServerSetup read_servers(Object& fields, const Cluster& cluster) {
  ServerSetup setup;
  if (const auto servers = fields.find("servers")) {
    constexpr int most = 1'000'000;
    setup.servers = static_cast<int>(servers->integer(1, most));
    if (setup.servers > cluster.nodes) {
      servers->fail_because(
          fmt::format("{} servers for {} nodes: a client's own link already limits it with {}; use at most as many as nodes", setup.servers,
                      cluster.nodes, cluster.nodes));
    }
  }
  if (const auto colocated = fields.find("colocated")) setup.colocated = colocated->boolean();
  if (const auto work = fields.find("server_s_per_B")) setup.work = work->seconds_per_byte();
  if (const auto duplex = fields.find("duplex")) setup.duplex = duplex->boolean();
  return setup;
}

}  // namespace

Schedule read_server_schedule(Object& fields, const Cluster& cluster) {
  require_star(fields, cluster);
  Schedule schedule;
  schedule.ranks = RankKind::node;
  schedule.all_reduces = false;
  schedule.servers = read_servers(fields, cluster);
  return schedule;
}

Schedule read_learners(Object& fields, const Cluster& cluster, Program (*program)(int interval, const ScheduleInput& input)) {
  Schedule schedule = read_server_schedule(fields, cluster);
  schedule.servers->asynchronous = true;
  schedule.cycle = read_steps(fields.at("interval"));
  schedule.make = [program, interval = schedule.cycle](const ScheduleInput& input) { return program(interval, input); };
  return schedule;
}

GroupingFunction read_server_grouping(Object& fields) {
  const auto grouping = fields.find("grouping");
  return grouping ? read_grouping(*grouping) : GroupingFunction(group_wfbp);
}

ServerSetup place_servers(ServerSetup setup, const Cluster& cluster) {
  setup.bandwidth = cluster.link.bandwidth;
  setup.latency = cluster.link.latency;
  const int gpus = cluster.gpus_per_node;
  if (gpus == 1) return setup;
  const SecondsPerByte beta = inverse(cluster.intra_node.bandwidth);
  const double share = (gpus - 1.0) / gpus;
  setup.gather_latency = setup.spread_latency = (gpus - 1) * cluster.intra_node.latency;
  setup.gather = share * (beta + cluster.reduce);
  setup.spread = share * beta;
  return setup;
}

CostLine push_pull_cost(const ServerSetup& setup, int clients) {
  const double clients_per_server = static_cast<double>(clients) / setup.servers;
  const SecondsPerByte wire = std::max(1.0, clients_per_server) * inverse(setup.bandwidth);
  return {2.0 * setup.latency + setup.gather_latency + setup.spread_latency,
          2.0 * wire + clients_per_server * setup.work + setup.gather + setup.spread};
}

int read_steps(const Field& field) { return static_cast<int>(field.integer(1, most_steps_between)); }

}  // namespace syncopate
