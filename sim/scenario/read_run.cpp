#include "scenario/read_run.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/choice.hpp"
#include "base/indexed.hpp"
#include "cluster/placement.hpp"

namespace syncopate {

namespace {

constexpr double hour_s = 3600.0;
constexpr double thousand_days_s = 1000.0 * 86400.0;
constexpr double most_per_1000_days = 1e9;

enum class Domain { gpu, node, switch_, region };

struct DomainRow {
  std::string_view name;
  Domain value;
  std::string_view rate;  ///< the key of "failures" with the rate of one such component; empty if there is none
};
constexpr std::array domains = {DomainRow{"gpu", Domain::gpu, "mtbf_per_gpu_h"}, DomainRow{"node", Domain::node, "per_1000_node_days"},
                                DomainRow{"switch", Domain::switch_, ""}, DomainRow{"region", Domain::region, ""}};

std::vector<std::vector<int>> nodes_of_switches(const Field& domain, const Cluster& cluster) {
  if (cluster.regions) domain.fail_because("a cluster with regions has no switches; use \"region\"");
  std::map<int, std::vector<int>> nodes;
  const std::vector<int> places = places_of_nodes(cluster, cluster.nodes, {});
  for (int node = 0; node < cluster.nodes; ++node) {
    const auto number = cluster.topology->switch_of(places[at(node)]);
    if (!number) domain.fail_because(fmt::format("a {} has no switches; use \"node\" or \"gpu\"", cluster.topology->name()));
    nodes[*number].push_back(node);
  }
  std::vector<std::vector<int>> groups;
  for (auto& [number, switch_nodes] : nodes) groups.push_back(std::move(switch_nodes));
  return groups;
}

std::vector<std::vector<int>> nodes_of_regions(const Field& domain, const Cluster& cluster) {
  if (!cluster.regions) domain.fail_because("the cluster has no regions; use \"switch\", \"node\" or \"gpu\"");
  std::vector<std::vector<int>> groups(cluster.regions->list.size());
  const std::vector<std::size_t> regions = regions_of_nodes(cluster, {});
  for (int node = 0; node < cluster.nodes; ++node) groups[regions[at(node)]].push_back(node);
  return groups;
}

/// The rate from "failures" itself: for GPUs or nodes, and the mean time to failure of one of them.
struct CommonRate {
  const DomainRow* row = nullptr;
  Seconds mean{};
};

CommonRate read_common_rate(Object& fields) {
  const auto of_gpu = fields.find("mtbf_per_gpu_h");
  const auto of_node = fields.find("per_1000_node_days");
  if (of_gpu && of_node) {
    of_node->fail_because(R"("mtbf_per_gpu_h" also sets the failure rate; leave one of them out, or use "kinds")");
  }
  constexpr double longest_h = 1e12;
  if (of_gpu) return {domains.data(), Seconds(of_gpu->positive(longest_h) * hour_s)};
  if (of_node) return {&domains[1], Seconds(thousand_days_s / of_node->positive(most_per_1000_days))};
  return {};
}

FailureKind kind_of(Domain domain, const Field& field, const Cluster& cluster) {
  switch (domain) {
    case Domain::gpu: return {.mean = {}, .per_node = cluster.gpus_per_node};
    case Domain::node: return {.mean = {}};
    case Domain::switch_: return {.mean = {}, .per_node = 0, .groups = nodes_of_switches(field, cluster)};
    case Domain::region: return {.mean = {}, .per_node = 0, .groups = nodes_of_regions(field, cluster)};
  }
  return {};
}

FailureKind read_kind(const Field& field, const Cluster& cluster, const CommonRate& common, bool& takes_common) {
  Object fields(field);
  const Field domain = fields.at("domain");
  const auto& row = choose<DomainRow>(domain, domains);
  FailureKind kind = kind_of(row.value, domain, cluster);
  if (const auto rate = fields.find("rate")) {
    kind.mean = Seconds(thousand_days_s / rate->positive(most_per_1000_days));
  } else if (common.row == &row && !takes_common) {
    kind.mean = common.mean;
    takes_common = true;
  } else {
    field.fail_because(fmt::format("the failure rate is missing; add \"rate\" (failures in 1000 days){}",
                                   row.rate.empty() ? "" : fmt::format(", or \"{}\" to \"failures\" for one kind", row.rate)));
  }
  if (const auto shape = fields.find("weibull_shape")) {
    constexpr double earliest = 0.1;
    constexpr double sharpest = 10.0;
    constexpr std::int64_t most_components = 1 << 20;
    kind.shape = shape->number(earliest, sharpest);
    if (kind.shape != 1.0 && kind.components(cluster.nodes) > most_components) {
      shape->fail_because(fmt::format("{} components are too many for a shape other than 1; use 1, or a kind of at most {} components",
                                      kind.components(cluster.nodes), most_components));
    }
  }
  fields.finish();
  return kind;
}

std::vector<FailureKind> read_failures(const Field& field, const Cluster& cluster) {
  Object fields(field);
  const CommonRate common = read_common_rate(fields);
  std::vector<FailureKind> kinds;
  bool takes_common = false;
  if (const auto list = fields.find("kinds")) {
    for (const Field& entry : list->list()) kinds.push_back(read_kind(entry, cluster, common, takes_common));
    if (common.row != nullptr && !takes_common) {
      fields.at(std::string(common.row->rate))
          .fail_because(
              fmt::format("no kind of the domain \"{}\" lacks a \"rate\", so this one is never used; leave it out", common.row->name));
    }
  } else if (common.row == nullptr) {
    field.fail_because(R"(the failure rate is missing; add "mtbf_per_gpu_h", "per_1000_node_days" or "kinds")");
  } else {
    kinds.push_back(kind_of(common.row->value, field, cluster));
    kinds.back().mean = common.mean;
  }
  fields.finish();
  return kinds;
}

struct RuleRow {
  std::string_view name;
  Checkpoints::Rule value;
};
constexpr std::array rules = {RuleRow{"daly", Checkpoints::Rule::daly}, RuleRow{"young", Checkpoints::Rule::young}};
constexpr double longest_s = 1e9;

Checkpoints read_checkpoint(const Field& field, bool fails) {
  Object fields(field);
  Checkpoints checkpoints;
  checkpoints.write = fields.at("write_s").seconds();
  const auto stall = fields.find("stall_s");
  checkpoints.stall = stall ? stall->seconds() : checkpoints.write;
  if (checkpoints.stall > checkpoints.write) {
    stall->fail_because(
        fmt::format("training cannot stall for longer than the checkpoint takes; use at most \"write_s\", {}", checkpoints.write.value));
  }
  const auto every = fields.find("every");
  if (every && every->json().is_number()) {
    checkpoints.rule = Checkpoints::Rule::fixed;
    checkpoints.every = Seconds(every->positive(longest_s));
    if (checkpoints.every < checkpoints.write - checkpoints.stall) {
      every->fail_because(fmt::format("a checkpoint would begin before the previous one is complete; use at least {}",
                                      (checkpoints.write - checkpoints.stall).value));
    }
  } else if (every) {
    if (!every->is_text()) every->fail(R"(a number of seconds > 0, "daly" or "young")");
    checkpoints.rule = choose<RuleRow>(*every, rules).value;
  }
  if (checkpoints.rule != Checkpoints::Rule::fixed && !fails) {
    field.fail_because(R"(the best interval depends on "failures", which are missing; add them, or give "every" in seconds)");
  }
  fields.finish();
  return checkpoints;
}

RestartTimes read_restart(const Field& field) {
  Object fields(field);
  RestartTimes times;
  if (const auto detect = fields.find("detect_s")) times.detect = detect->seconds();
  if (const auto restart = fields.find("restart_s")) times.restart = restart->seconds();
  if (const auto load = fields.find("load_s")) times.load = load->seconds();
  fields.finish();
  return times;
}

struct PolicyRow {
  std::string_view name;
  FailurePolicy::Kind value;
  std::string_view example;  ///< an example object if the policy has required parameters
};
constexpr std::array policies = {PolicyRow{"restart", FailurePolicy::Kind::restart, ""},
                                 PolicyRow{"hot-spare", FailurePolicy::Kind::hot_spare, R"({"name": "hot-spare", "spares": 2})"},
                                 PolicyRow{"shrink", FailurePolicy::Kind::shrink, R"({"name": "shrink", "min_nodes": 6})"},
                                 PolicyRow{"per-step", FailurePolicy::Kind::per_step, R"({"name": "per-step", "min_nodes": 6})"}};

int read_min_nodes(const Field& field, const Cluster& cluster) {
  constexpr int most_sizes = 256;
  const int min_nodes = static_cast<int>(field.integer(1, cluster.nodes));
  if (cluster.nodes - min_nodes >= most_sizes) {
    field.fail_because(fmt::format("up to {} numbers of nodes would be simulated, but at most {} are possible; use at least {}",
                                   cluster.nodes - min_nodes + 1, most_sizes, cluster.nodes - most_sizes + 1));
  }
  return min_nodes;
}

FailurePolicy read_policy(const Field& field, const Cluster& cluster) {
  if (!field.is_object()) {
    const auto& row = choose<PolicyRow>(field, policies);
    if (!row.example.empty()) field.fail_because(fmt::format("{} has required parameters; use {}", row.name, row.example));
    return {.kind = row.value};
  }
  Object fields(field);
  FailurePolicy policy;
  const Field name = fields.at("name");
  policy.kind = choose<PolicyRow>(name, policies).value;
  if (policy.may_shrink() && cluster.regions) {
    name.fail_because("on regions it would matter which region has lost a node, which is not simulated; use \"restart\" or \"hot-spare\"");
  }
  constexpr int most_spares = 1 << 20;
  constexpr double longest_h = 1e5;
  if (policy.kind == FailurePolicy::Kind::hot_spare) policy.spares = static_cast<int>(fields.at("spares").integer(1, most_spares));
  if (policy.may_shrink()) policy.min_nodes = read_min_nodes(fields.at("min_nodes"), cluster);
  if (policy.kind != FailurePolicy::Kind::restart) {
    if (const auto repair = fields.find("repair_h")) policy.repair = Seconds(repair->positive(longest_h) * hour_s);
  }
  fields.finish();
  return policy;
}

void read_length(Object& fields, const std::optional<double>& of_epochs, LongRun& run) {
  constexpr std::int64_t most_samples = 1'000'000'000'000'000;
  constexpr std::int64_t most_steps = 1'000'000'000;
  const auto samples = fields.find("samples");
  const auto steps = fields.find("steps");
  if (samples && steps) steps->fail_because(R"("samples" also sets the length of the run; leave one of them out)");
  if (of_epochs && (samples || steps)) {
    (samples ? *samples : *steps).fail_because(R"("epochs" of the scenario also sets the length of the run; leave one of them out)");
  }
  if (samples) run.samples = static_cast<double>(samples->integer(1, most_samples));
  if (steps) run.steps = static_cast<double>(steps->integer(1, most_steps));
  if (samples || steps) return;
  if (!of_epochs) fields.field().fail_because(R"(the length of the run is missing; add "steps" or "samples", or "epochs" to the scenario)");
  run.samples = of_epochs;
}

}  // namespace

LongRun read_run(const Field& field, const Cluster& cluster, const std::optional<double>& samples) {
  Object fields(field);
  LongRun run;
  run.nodes = cluster.nodes;
  read_length(fields, samples, run);
  if (const auto failures = fields.find("failures")) run.failures = read_failures(*failures, cluster);
  if (const auto checkpoint = fields.find("checkpoint")) run.checkpoints = read_checkpoint(*checkpoint, !run.failures.empty());
  if (const auto restart = fields.find("restart")) run.restart = read_restart(*restart);
  if (const auto policy = fields.find("policy")) run.policy = read_policy(*policy, cluster);
  constexpr int most_seeds = 10'000;
  if (const auto seeds = fields.find("seeds")) run.seeds = static_cast<int>(seeds->integer(1, most_seeds));
  fields.finish();
  return run;
}

}  // namespace syncopate
