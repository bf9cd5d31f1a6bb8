#include "scenario/read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "base/choice.hpp"
#include "base/digest.hpp"
#include "base/errors.hpp"
#include "base/fields.hpp"
#include "base/indexed.hpp"
#include "base/text.hpp"
#include "cluster/placement.hpp"
#include "cluster/platform_topology.hpp"
#include "scenario/read_jobs.hpp"
#include "scenario/read_run.hpp"
#include "scenario/read_simgrid.hpp"
#include "scenario/read_workers.hpp"

namespace syncopate {

namespace {

constexpr std::int64_t most_iterations = 10'000'000;

struct GranularityRow {
  std::string_view name;
  Granularity value;
};
constexpr std::array granularities = {GranularityRow{"tensor", Granularity::tensor}, GranularityRow{"layer", Granularity::layer}};

/// Empty: `auto`.
std::optional<Fidelity> read_fidelity(const Field& field) {
  std::vector<std::string> names = {"auto"};
  for (const Fidelity fidelity : fidelities) names.emplace_back(to_string(fidelity));
  return fidelity_of(choose_name(field, names));
}

/// The schedule's parameter that lets some ranks miss an all-reduce.
std::string partial_parameter(const Field& schedule) { return schedule.json().contains("quorum") ? "quorum" : "participants"; }

Field partial_field(const Field& schedule) {
  const std::string name = partial_parameter(schedule);
  return {schedule.document(), fmt::format("{}/{}", schedule.pointer(), name), schedule.json().at(name)};
}

/// Throws InputError where switches cannot add up.
void check_in_network(const Scenario& scenario, const std::optional<Field>& fidelity, const Field& all_reduce, bool is_job) {
  const Cluster& cluster = scenario.cluster;
  const char* const why = is_job                ? R"(jobs share links, but it has no messages that do; use "ring")"
                          : cluster.regions     ? R"(the cluster's regions have no switches in common; use "by-region")"
                          : cluster.platform    ? R"(it has a closed form, which knows no routes of a platform; use "ring")"
                          : cluster.is_fitted() ? R"(the cluster's "fit" measures another all-reduce; leave "fit" out, or use "ring")"
                          : cluster.changes_with_time() ? R"(it has a closed form, in which links do not change with time; use "ring")"
                          : cluster.protocol != Protocol()
                              ? R"(it has no messages, for which the cluster's "protocol" is; leave one of them out)"
                              : nullptr;
  if (why != nullptr) all_reduce.fail_because(fmt::format(R"("{}": {})", scenario.all_reduce.name, why));
  if (scenario.fidelity.value_or(Fidelity::alpha_beta) == Fidelity::alpha_beta) return;
  fidelity->fail_because(fmt::format(R"(an all-reduce "{}" has a closed form, and no messages between ranks; use "alpha-beta" or "auto")",
                                     scenario.all_reduce.name));
}

/// Throws InputError if the fidelity does not support the scenario.
void check_fidelity(const Scenario& scenario, const std::optional<Field>& field, const std::optional<Field>& all_reduce,
                    const Field& schedule, bool is_job) {
  const Cluster& cluster = scenario.cluster;
  const bool fitted = cluster.is_fitted() && scenario.schedule.traffic.has_collectives();
  const bool changes = cluster.changes_with_time();
  if (changes && scenario.schedule.traffic.has_partial_collectives()) {
    partial_field(schedule).fail_because(
        fmt::format("an all-reduce in which not all ranks take part cannot use links that change with time; leave \"{}\" out",
                    partial_parameter(schedule)));
  }
  if (fitted && scenario.all_reduce.chunk > Bytes(0)) {
    all_reduce->fail_because("the cluster's fit measures whole collectives, not chunks; leave \"chunk\" or \"fit\" out");
  }
  if (scenario.all_reduce.by_region && !cluster.regions) {
    all_reduce->fail_because("the cluster has no regions; use \"ring\", or \"two-level\" for nodes of several GPUs");
  }
  if (scenario.all_reduce.by_region && cluster.is_fitted()) {
    all_reduce->fail_because("the cluster's fit is of an all-reduce over all nodes; leave out \"fit\", or use \"ring\"");
  }
  if (scenario.all_reduce.in_network && scenario.schedule.traffic.has_collectives()) check_in_network(scenario, field, *all_reduce, is_job);
  const bool has_protocol = cluster.protocol != Protocol() && scenario.schedule.traffic.has_collectives() && cluster.nodes > 1;
  const bool goes_inside = scenario.all_reduce.across_gpus && cluster.gpus_per_node > 1 && scenario.schedule.traffic.ranks == RankKind::gpu;
  if (has_protocol && goes_inside) {
    all_reduce->fail_because(
        "a ring across GPUs also sends messages inside nodes, for which the cluster's \"protocol\" is not defined; leave one of them out");
  }
  constexpr int most_ranks_in_ring = 4096;
  if (scenario.all_reduce.across_gpus && cluster.regions && !cluster.is_fitted() && cluster.workers() > most_ranks_in_ring) {
    all_reduce->fail_because(fmt::format("a ring through {} GPUs of regions takes too long to compute; use at most {}, or two levels",
                                         cluster.workers(), most_ranks_in_ring));
  }
  if (!scenario.fidelity) return;
  if (*scenario.fidelity == Fidelity::alpha_beta) {
    if (cluster.platform) {
      field->fail_because(R"(alpha-beta fidelity knows no routes, which a platform is; use "per-message", "flow" or "auto")");
    }
    if (scenario.all_reduce.chunk > Bytes(0)) {
      all_reduce->fail_because(
          "alpha-beta fidelity has no messages and so no chunks; leave \"chunk\" out or use \"per-message\" or \"flow\"");
    }
    if (has_protocol) {
      field->fail_because(
          "alpha-beta fidelity has no messages, for which the cluster's \"protocol\" is; use \"per-message\", \"flow\" or "
          "\"auto\"");
    }
    if (cluster.regions && !cluster.is_fitted() && scenario.schedule.traffic.has_collectives() &&
        (scenario.all_reduce.by_region || scenario.all_reduce.algorithm != default_all_reduce().algorithm)) {
      all_reduce->fail_because(
          fmt::format("on regions alpha-beta fidelity supports only a ring; use \"ring\" instead of \"{}\", or \"per-message\"",
                      scenario.all_reduce.name));
    }
  } else if (fitted) {
    field->fail_because("the cluster's fit measures whole all-reduces, not their messages; leave \"fit\" out or use \"alpha-beta\"");
  }
  if (!shares_links(*scenario.fidelity) && changes) {
    field->fail_because(fmt::format("{} needs flows; use \"flow\" or \"auto\"", cluster.platform
                                                                                    ? "a platform whose links change with time"
                                                                                    : "a link's \"bandwidth_profile\" or \"rtt_profile\""));
  }
  if (*scenario.fidelity == Fidelity::per_message && scenario.schedule.traffic.servers &&
      cluster.topology->name() != default_topology()->name()) {
    field->fail_because("messages to parameter servers share links, which per-message simulates only on a star; use \"flow\" or \"auto\"");
  }
  if (shares_links(*scenario.fidelity) && scenario.schedule.traffic.servers &&
      scenario.schedule.traffic.servers->service != Service::shared) {
    field->fail_because(
        "flows share links, but servers whose \"service\" is \"fifo\" or \"queued\" do not; use \"per-message\" or \"auto\"");
  }
  if (shares_links(*scenario.fidelity) && scenario.schedule.traffic.has_partial_collectives()) {
    field->fail_because("an all-reduce in which not all ranks take part has no messages; use \"per-message\"");
  }
}

int read_channels(const Field& field, const Schedule& schedule) {
  constexpr int most_channels = 1024;
  const int channels = static_cast<int>(field.integer(1, most_channels));
  if (channels > 1 && schedule.traffic.has_partial_collectives()) {
    const Field schedule_field(field.document(), "/schedule", field.document().root()["schedule"]);
    field.fail_because(fmt::format("an all-reduce in which not all ranks take part has one channel; leave \"{}\" or \"channels\" out",
                                   partial_parameter(schedule_field)));
  }
  const std::vector<StreamTraffic>& streams = schedule.traffic.streams;
  if (channels > 1 && std::any_of(streams.begin(), streams.end(), [](const StreamTraffic& stream) { return stream.follows; })) {
    field.fail_because("some of the schedule's collectives follow others in order, one at a time; leave \"channels\" out");
  }
  if (schedule.traffic.has_collectives() && field.document().root()["schedule"].contains("in_flight")) {
    field.fail_because("the schedule's \"in_flight\" also sets how many collectives are in flight; leave one of them out");
  }
  return channels;
}

/// Dedicated server nodes need places in the topology.
void check_places(const Scenario& scenario, const Document& document) {
  const auto& servers = scenario.schedule.traffic.servers;
  if (!servers || servers->colocated || scenario.cluster.workers() == 1) return;
  const Topology& topology = *scenario.cluster.topology;
  const int needed = scenario.cluster.nodes + servers->servers;
  if (topology.places() >= needed) return;
  const std::string key = scenario.cluster.platform ? "nodes" : "topology";
  Field(document, "/cluster/" + key, document.root()["cluster"][key])
      .fail_because(fmt::format("a {} of this size has {} places for {} nodes and {} servers; use {}, or \"colocated\": true",
                                topology.name(), topology.places(), scenario.cluster.nodes, servers->servers, topology.advice(needed)));
}

/// By worker: what its file says of it, on a host of such a speed.
std::vector<double> slow_workers(const Scenario& scenario) {
  std::vector<double> slow = scenario.speed.slow;
  const Cluster& cluster = scenario.cluster;
  if (!cluster.has_host_speeds) return slow;
  std::vector<double> speeds;  // by node
  for (const int place : places_of_nodes(cluster, cluster.nodes, {})) speeds.push_back(cluster.topology->own(place)->speed);
  if (std::all_of(speeds.begin(), speeds.end(), [&](double speed) { return speed == speeds.front(); })) return slow;
  slow.resize(at(cluster.workers()), 1.0);
  for (std::size_t worker = 0; worker < slow.size(); ++worker) slow[worker] *= speeds.front() / speeds[worker / at(cluster.gpus_per_node)];
  return slow;
}

void read_iterations(const std::optional<Field>& field, const Field& schedule, Scenario& scenario) {
  std::int64_t warmup = scenario.warmup;
  std::int64_t measured = scenario.measured;
  scenario.chooses_window = !field || !(field->json().contains("measured") || field->json().contains("until"));
  if (field) {
    Object fields(*field);
    if (const auto value = fields.find("warmup")) warmup = value->integer(0, most_iterations);
    if (const auto value = fields.find("measured")) measured = value->integer(1, most_iterations);
    if (const auto value = fields.find("until")) {
      constexpr double least = 1e-5;
      constexpr double most = 0.5;
      scenario.until = value->number(least, most);
    }
    fields.finish();
  }
  const int cycle = scenario.schedule.pace.cycle;
  constexpr std::int64_t fewest_cycles = 3;  // that can be seen to be alike
  if (scenario.chooses_window && fewest_cycles * cycle <= most_iterations) measured = std::max(measured, fewest_cycles * cycle);
  for (const std::int64_t steps : {warmup, measured}) {
    if (whole_cycles(steps, cycle) <= most_iterations) continue;
    schedule.fail_because(
        fmt::format("its pattern repeats every {} steps, so warm-up and measured steps are multiples of this: {} steps are more than {}; "
                    "use parameters with a smaller common multiple",
                    cycle, whole_cycles(steps, cycle), most_iterations));
  }
  scenario.warmup = static_cast<int>(whole_cycles(warmup, cycle));
  scenario.measured = static_cast<int>(whole_cycles(measured, cycle));
}

/// The speeds of the first `workers` workers.
Speed speed_of(const Speed& all, int workers) {
  Speed speed = all;
  if (!speed.slow.empty()) speed.slow.resize(at(workers));
  if (!speed.traces.empty()) speed.traces.resize(at(workers));
  std::erase_if(speed.spells, [&](const SlowSpell& spell) { return spell.worker >= workers; });
  std::erase_if(speed.pauses, [&](const Pause& pause) { return pause.worker >= workers; });
  std::erase_if(speed.absences, [&](const Absence& absence) { return absence.worker >= workers; });
  return speed;
}

/// The scenario with one node less, two nodes less, ... The remaining nodes keep their places; see Scenario::smaller.
std::vector<Scenario> read_smaller(const Scenario& whole, const Document& document, Library& library) {
  std::vector<Scenario> smaller;
  Document reduced = document;
  reduced.erase("run");
  reduced.erase("workers");
  leave_out_changes(whole.cluster, reduced);
  if (whole.cluster.platform) reduced.set(JsonPointer("/cluster/hosts"), platform_hosts(whole.cluster), "");
  for (int nodes = whole.cluster.nodes - 1; nodes >= whole.run->policy.min_nodes; --nodes) {
    reduced.set(JsonPointer("/cluster/nodes"), nodes, "");
    try {
      smaller.push_back(read_scenario(reduced, library));
    } catch (const InputError& error) {
      throw InputError(fmt::format("{} (with {} of {} nodes, to which the run may shrink)", error.what(), nodes, whole.cluster.nodes));
    }
    smaller.back().cluster.topology = whole.cluster.topology;
    LinkChanges& changes = smaller.back().cluster.link_changes = whole.cluster.link_changes;
    changes.of_nodes.erase(changes.of_nodes.lower_bound(nodes), changes.of_nodes.end());
    smaller.back().speed = speed_of(whole.speed, smaller.back().cluster.workers());
  }
  return smaller;
}

/// Replaces the name of a platform at `pointer`, if there is one, by what is in the file.
void replace_platform(Document& document, const std::string& pointer, const std::function<Json(const Field&)>& content) {
  const JsonPointer place(pointer);
  if (!document.root().is_object() || !document.root().contains(place) || !document.root().at(place).is_string()) return;
  document.set(place, content(Field(document, pointer, document.root().at(place))), document.origin(pointer));
}

/// Adds to the message which key of the scenario named the file.
InputError name_with(const Field& field, const InputError& error) {
  const Document& document = field.document();
  return InputError(fmt::format("{} (named by {}){}", error.what(), document.where(field.pointer()), document.origin(field.pointer())));
}

}  // namespace

const Document& Library::document(const Field& field, FileKind kind) {
  const std::pair name(kind, field.text());
  const auto found = documents_.find(name);
  if (found != documents_.end()) return found->second;
  std::filesystem::path path;
  try {
    path = named_file(name.second, {kind}, folder_).lexically_normal();
    Document document = Document::read(path);
    if (kind == FileKind::cluster) replace_platform(document, "/platform", platform_content);
    Object{Field(document)}.format(fmt::format("{}/1", name_of(kind)), true);
    return documents_.emplace(name, std::move(document)).first->second;
  } catch (const InputError& error) {
    std::error_code ignored;
    if (std::filesystem::symlink_status(path, ignored).type() != std::filesystem::file_type::not_found) throw name_with(field, error);
    field.fail_because(fmt::format("{} (paths are relative to the scenario file)", error.what()));
  }
}

void Library::hold_platform(Document& document) {
  replace_platform(document, "/cluster/platform", [this](const Field& platform) {
    const std::pair name(FileKind::cluster, platform.text());
    if (const auto found = documents_.find(name); found != documents_.end()) return found->second.root();
    Json content = platform_content(platform);
    documents_.emplace(name, Document(content, content["file"].get<std::string>()));
    return content;
  });
}

std::shared_ptr<const Trace> Library::trace(const Field& field) {
  if (SharedTrace* const shared = find_shared(field)) {
    if (!shared->trace) shared->trace = std::make_shared<const Trace>(read_trace(*shared->document, "/trace"));
    shared->document.reset();
    return shared->trace;
  }
  if (!field.is_text()) return std::make_shared<const Trace>(read_trace(field.document(), field.pointer()));
  auto& trace = traces_[field.text()];
  if (trace) return trace;
  const Document& content = document(field, FileKind::trace);
  try {
    trace = std::make_shared<const Trace>(read_trace(content));
  } catch (const InputError& error) {
    throw name_with(field, error);
  }
  return trace;
}

std::shared_ptr<const Trace> Library::trace(const Field& field, double factor) {
  std::shared_ptr<const Trace> plain = trace(field);
  if (factor == 1.0) return plain;
  std::shared_ptr<const Trace>& found = scaled_[{plain, factor}];
  if (!found) found = std::make_shared<const Trace>(scaled(*plain, factor));
  return found;
}

Json Library::share_trace(Document document) {
  std::string digest = sha256(document.root()["trace"].dump());
  shared_.push_back({std::move(document), std::move(digest)});
  return shared_.size() - 1;
}

Library::SharedTrace* Library::find_shared(const Field& field) {
  const Json& number = field.json();
  return number.is_number_unsigned() && number.get<std::size_t>() < shared_.size() ? &shared_[number.get<std::size_t>()] : nullptr;
}

Library::Library(const std::vector<InputFile>& files) {
  for (const InputFile& file : files) documents_.emplace(std::pair(file.kind, file.name), Document(file.content, file.file));
}

std::string Library::trace_digest(const Field& field) {
  if (const SharedTrace* const shared = find_shared(field)) return shared->digest;
  if (!field.is_text()) return sha256(field.json().dump());
  std::string& digest = trace_digests_[field.text()];
  if (digest.empty()) digest = sha256(document(field, FileKind::trace).root().dump());
  return digest;
}

std::vector<InputFile> Library::files() const {
  std::vector<InputFile> files;
  for (const auto& [key, document] : documents_) files.push_back({key.first, key.second, document.file(), document.root()});
  return files;
}

std::vector<const Trace*> Scenario::traces() const {
  std::vector<const Trace*> found = {trace.get()};
  for (const auto& own : speed.traces) {
    if (own && std::find(found.begin(), found.end(), own.get()) == found.end()) found.push_back(own.get());
  }
  return found;
}

std::vector<const Scenario*> Scenario::trainings() const {
  if (!jobs) return {this};
  std::vector<const Scenario*> all;
  for (const SharingJob& job : jobs->list) all.push_back(&job.scenario);
  return all;
}

bool Scenario::draws() const {
  if (jobs) return std::any_of(jobs->list.begin(), jobs->list.end(), [](const SharingJob& job) { return job.scenario.draws(); });
  if (speed.jitter.varies()) return true;
  return cluster.workers() > 1 && (draws_latencies(cluster) || (schedule.traffic.peers && schedule.traffic.peers->drawn));
}

bool Scenario::is_sample() const {
  if (jobs) return std::any_of(jobs->list.begin(), jobs->list.end(), [](const SharingJob& job) { return job.scenario.is_sample(); });
  return draws() || (cluster.workers() > 1 && !schedule.repeats());
}

bool Scenario::has_events() const {
  if (jobs) return std::any_of(jobs->list.begin(), jobs->list.end(), [](const SharingJob& job) { return job.scenario.has_events(); });
  return speed.has_events() || cluster.changes_with_time();
}

bool Scenario::measures_until() const { return is_sample() && (until || (chooses_window && !has_events())); }

int Scenario::server_nodes() const {
  const std::optional<ServerSetup>& servers = schedule.traffic.servers;
  return servers && !servers->colocated ? servers->servers : 0;
}

int Scenario::paid_nodes() const { return cluster.nodes + (cluster.workers() > 1 ? server_nodes() : 0) + (run ? run->policy.spares : 0); }

int Scenario::most_until() const {
  constexpr int most_iterations_until = 100'000;
  constexpr int most_steps_until = 20'000'000;  // of all workers together; limits the memory
  return std::min(most_iterations_until, most_steps_until / all_workers());
}

int Scenario::all_workers() const {
  int workers = 0;
  for (const Scenario* training : trainings()) workers += training->cluster.workers();
  return workers;
}

void Scenario::set_measured(int iterations) {
  chooses_window = false;
  measured = static_cast<int>(whole_cycles(iterations, schedule.pace.cycle));
  if (!jobs) return;
  Jobs all = *jobs;
  for (SharingJob& job : all.list) job.scenario.set_measured(iterations);
  jobs = std::make_shared<const Jobs>(std::move(all));
}

Scenario read_scenario(const Document& document, Library& library, bool is_job) {
  Object fields{Field(document)};
  if (document.root().contains("jobs")) return read_jobs(fields, library);
  Scenario scenario;
  fields.format("scenario/1", true);
  scenario.name = fields.at("name").name();
  const Field trace = fields.at("trace");
  constexpr double largest_factor = 1e3;
  if (const auto factor = fields.find("trace_factor")) scenario.trace_factor = factor->number(1.0 / largest_factor, largest_factor);
  scenario.trace = library.trace(trace, scenario.trace_factor);
  fields.at("cluster");
  scenario.cluster = read_cluster(document, "/cluster");
  if (const auto granularity = fields.find("granularity")) scenario.granularity = choose<GranularityRow>(*granularity, granularities).value;
  const auto fidelity = fields.find("fidelity");
  if (fidelity) scenario.fidelity = read_fidelity(*fidelity);
  if (const auto simgrid = fields.find("simgrid")) scenario.simgrid = read_simgrid(*simgrid, scenario.fidelity);
  const auto all_reduce = fields.find("all_reduce");
  scenario.all_reduce = all_reduce ? read_all_reduce(*all_reduce) : default_all_reduce();
  if (scenario.cluster.is_fitted() && !scenario.all_reduce.candidates.empty())
    scenario.all_reduce.algorithm = scenario.cluster.fits.begin()->second.front().algorithm;
  if (!can_carry_fit(scenario.cluster, *scenario.all_reduce.algorithm)) {
    const Field fit(document, "/cluster/fit", document.root()["cluster"]["fit"]);
    fit.fail_because(
        fmt::format("a fit of {0} that is faster than reduce_s_per_B allows cannot be converted to {1}; lower reduce_s_per_B or use "
                    "\"all_reduce\": \"{0}\"",
                    scenario.cluster.fits.begin()->second.front().algorithm->name, scenario.all_reduce.algorithm->name));
  }
  scenario.schedule = read_schedule(fields.at("schedule"), scenario.cluster);
  if (const auto channels = fields.find("channels")) scenario.channels = read_channels(*channels, scenario.schedule);
  check_fidelity(scenario, fidelity, all_reduce, fields.at("schedule"), is_job);
  if (!is_job) check_places(scenario, document);
  if (const auto workers = fields.find("workers")) scenario.speed = read_workers(*workers, scenario, library);
  scenario.speed.slow = slow_workers(scenario);
  check_absences(scenario, document);
  read_iterations(fields.find("iterations"), fields.at("schedule"), scenario);
  constexpr std::int64_t most_samples = 1'000'000'000'000'000;
  if (const auto samples = fields.find("samples")) scenario.samples = static_cast<double>(samples->integer(1, most_samples));
  if (const auto epochs = fields.find("epochs")) {
    scenario.epochs = epochs->positive(1e9);
    if (!scenario.samples) epochs->fail_because(R"(the length of an epoch is missing; add "samples")");
  }
  constexpr std::int64_t largest_seed = std::int64_t{1} << 53;
  if (const auto seed = fields.find("seed")) scenario.speed.seed = static_cast<std::uint64_t>(seed->integer(0, largest_seed));
  if (const auto replicates = fields.find("replicates")) scenario.replicates = static_cast<int>(replicates->integer(1, most_replicates));
  fields.find("sweep");
  fields.find("jobs");
  if (const auto run = fields.find("run")) {
    scenario.run = read_run(*run, scenario.cluster, scenario.epochs ? std::optional(*scenario.epochs * *scenario.samples) : std::nullopt);
  }
  fields.finish();
  if (scenario.run && scenario.run->policy.may_shrink()) {
    scenario.smaller = std::make_shared<const std::vector<Scenario>>(read_smaller(scenario, document, library));
  }
  return scenario;
}

}  // namespace syncopate
