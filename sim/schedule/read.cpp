#include <fmt/format.h>

#include <algorithm>

#include "base/choice.hpp"
#include "schedule/schedules.hpp"

namespace syncopate {

namespace {

/// Throws InputError for what cannot be simulated on the cluster, whichever schedule it is.
void check_traffic(Object& fields, const Traffic& traffic, const Cluster& cluster) {
  if (cluster.regions && (traffic.servers || traffic.peers)) {
    fields.field().fail_because(fmt::format(
        "{} sends messages between single nodes, and on regions only all-reduces are simulated; use a cluster with one \"link\", "
        "or a schedule of all-reduces such as dts",
        fields.field().json()["name"].dump()));
  }
  if (traffic.servers && traffic.servers->servers > cluster.nodes) {
    fields.at("servers").fail_because(
        fmt::format("{} servers for {} nodes: a client's own link already limits it with {}; use at most as many as nodes",
                    traffic.servers->servers, cluster.nodes, cluster.nodes));
  }
}

}  // namespace

bool Traffic::has_partial_collectives() const {
  return std::any_of(streams.begin(), streams.end(), [](const StreamTraffic& one) { return one.rules.is_partial(); });
}

Traffic all_reduces(const StreamRules& rules) { return {.streams = {{.rules = rules}}}; }

Schedule read_schedule(const Field& field, const Cluster& cluster) {
  if (field.json().is_string()) field.fail(fmt::format("an object such as {{\"name\": {}}}", field.json().dump()));
  Object fields(field);
  const ScheduleRow& row = choose<ScheduleRow>(fields.at("name"), schedules());
  Schedule schedule = row.read(fields, cluster);
  schedule.name = row.name;
  check_traffic(fields, schedule.traffic, cluster);
  fields.finish();
  return schedule;
}

}  // namespace syncopate
