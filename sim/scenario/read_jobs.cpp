#include "scenario/read_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "base/text.hpp"
#include "cluster/platform_topology.hpp"

namespace syncopate {

namespace {

constexpr int most_jobs = 256;

/// Keys that a job may have itself. Otherwise the scenario's value applies.
constexpr std::array own_keys = {"trace", "granularity", "schedule", "all_reduce", "channels", "workers"};

/// Throws InputError if the scenario has a key that every job overrides.
void check_common_keys(Object& scenario, const std::vector<Field>& jobs) {
  for (const char* key : own_keys) {
    const auto common = scenario.find(key);
    const bool is_taken = std::any_of(jobs.begin(), jobs.end(), [&](const Field& job) { return !job.json().contains(key); });
    if (common && !is_taken) common->fail_because("every job has its own, so this one is never used; leave it out");
  }
}

/// Throws InputError if the scenario has a key that is not allowed with jobs.
void check_scenario(Object& scenario) {
  for (const char* key : {"run", "samples", "epochs"}) {
    if (const auto field = scenario.find(key)) {
      field->fail_because(fmt::format("\"{}\" is for a single training, but there are several jobs; leave one of them out", key));
    }
  }
  const auto fidelity = scenario.find("fidelity");
  if (fidelity && (fidelity->json() == "alpha-beta" || fidelity->json() == "per-message")) {
    fidelity->fail_because("jobs share links, which only \"flow\" simulates; use it or \"auto\", or leave \"jobs\" out");
  }
}

void check_cluster(const Cluster& cluster, const Document& document) {
  const auto fail = [&](const char* key, std::string_view why) {
    Field(document, fmt::format("/cluster/{}", key), document.root()["cluster"][key]).fail_because(why);
  };
  if (cluster.regions) {
    fail("regions",
         "a ring through regions takes all nodes, but a job has only some; use a cluster without regions, or leave \"jobs\" out");
  }
  if (cluster.has_host_speeds) fail("host_speeds", "a job's nodes take its trace's time; leave \"host_speeds\" or \"jobs\" out");
  if (cluster.is_fitted()) {
    fail("fit", "the cluster's fit measures whole all-reduces, but jobs share links message by message; leave \"fit\" or \"jobs\" out");
  }
}

std::vector<int> read_nodes(const Field& field, const Cluster& cluster) {
  const auto nodes = parse_ranges(field.text(), cluster.nodes - 1);
  if (!nodes) field.fail(fmt::format("ascending nodes from 0 to {} such as \"0-3,7\"", cluster.nodes - 1));
  return *nodes;
}

/// The scenario of the job alone, on a cluster of as many nodes.
Document document_of(const Field& job, const std::vector<int>& nodes, const Cluster& cluster) {
  Document document = job.document();
  for (const char* key : own_keys) {
    if (!job.json().contains(key)) continue;
    const std::string place = fmt::format("{}: {}/{}", document.file(), job.pointer(), key);  // for error messages
    document.mount(JsonPointer() / key, Document(job.json()[key], place));
  }
  document.erase("jobs");
  leave_out_changes(cluster, document);
  document.set(JsonPointer("/cluster/nodes"), nodes.size(), "");
  if (cluster.platform) document.set(JsonPointer("/cluster/hosts"), platform_hosts(cluster, nodes), "");
  const Json& root = document.root();
  if (!root.contains("fidelity") || root["fidelity"] == "auto") {
    document.set(JsonPointer("/fidelity"), "flow", " (because jobs share links)");
  }
  return document;
}

/// Throws InputError if the job's schedule (its own or the scenario's) has all-reduces without all ranks: they are no flows.
void check_schedule(const Field& job) {
  const Json& root = job.document().root();
  const bool has_own = job.json().contains("schedule");
  const Field schedule(job.document(), has_own ? job.pointer() + "/schedule" : "/schedule",
                       has_own ? job.json()["schedule"] : root["schedule"]);
  for (const char* key : {"participants", "quorum"}) {
    if (!schedule.is_object() || !schedule.json().contains(key) || schedule.json()[key] == 1) continue;
    const Field share(job.document(), fmt::format("{}/{}", schedule.pointer(), key), schedule.json()[key]);
    share.fail_because(fmt::format(
        "an all-reduce in which not all ranks take part is not simulated as flows, which jobs need; leave \"{}\" or \"jobs\" out", key));
  }
}

SharingJob read_job(const Field& field, std::size_t number, const Cluster& cluster, Library& library) {
  Object fields(field);
  SharingJob job;
  const auto name = fields.find("name");
  job.name = name ? name->name() : fmt::format("job {}", number);
  job.nodes = read_nodes(fields.at("nodes"), cluster);
  if (const auto start = fields.find("start_s")) job.start = start->seconds();
  for (const char* key : own_keys) fields.find(key);
  fields.finish();
  if (const auto trace = fields.find("trace"); trace && trace->json().is_number()) trace->fail("a trace, or the file or name of one");
  for (const char* key : {"trace", "schedule"}) {
    if (!field.document().root().contains(key)) fields.at(key);
  }
  check_schedule(field);
  job.scenario = read_scenario(document_of(field, job.nodes, cluster), library, true);
  job.scenario.cluster.topology = cluster.topology;
  job.scenario.cluster.link_changes = cluster.link_changes;
  return job;
}

/// Dedicated server nodes need places in the topology after the cluster's nodes.
void check_places(const Jobs& jobs, const Field& field) {
  int servers = 0;
  for (const SharingJob& job : jobs.list) servers += job.scenario.server_nodes();
  const Topology& topology = *jobs.cluster.topology;
  const int needed = jobs.cluster.nodes + servers;
  if (topology.places() >= needed) return;
  field.fail_because(
      fmt::format("a {} of this size has {} places for {} nodes and the {} servers of all jobs; use {}, or \"colocated\": true",
                  topology.name(), topology.places(), jobs.cluster.nodes, servers, topology.advice(needed)));
}

}  // namespace

Scenario read_jobs(Object& scenario, Library& library) {
  const Field list = scenario.at("jobs");
  const Document& document = list.document();
  scenario.format("scenario/1", true);
  scenario.at("cluster");
  check_scenario(scenario);
  Jobs jobs;
  jobs.cluster = read_cluster(document, "/cluster");
  check_cluster(jobs.cluster, document);
  const std::vector<Field> entries = list.list();
  if (entries.size() > most_jobs) list.fail_because(fmt::format("{} jobs are more than {}; use fewer", entries.size(), most_jobs));
  for (const Field& entry : entries) {
    jobs.list.push_back(read_job(entry, jobs.list.size(), jobs.cluster, library));
    const auto is_namesake = [&](const SharingJob& job) { return job.name == jobs.list.back().name; };
    if (std::count_if(jobs.list.begin(), jobs.list.end(), is_namesake) == 1) continue;
    entry.fail_because(fmt::format("two jobs are named \"{}\"; give each a \"name\" of its own", jobs.list.back().name));
  }
  check_common_keys(scenario, entries);
  check_places(jobs, list);
  Scenario first = jobs.list.front().scenario;
  first.jobs = std::make_shared<const Jobs>(std::move(jobs));
  return first;
}

}  // namespace syncopate
