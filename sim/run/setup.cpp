#include "run/setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "base/errors.hpp"
#include "base/processes.hpp"
#include "cluster/placement.hpp"
#include "schedule/posts.hpp"
#include "schedule/servers.hpp"

namespace syncopate {

namespace {

using Costs = std::map<Communicator, CollectiveCosts>;

/// A cluster on which something takes no time, besides what took none on the one before it.
struct Cheaper {
  int link = -1;  ///< a group of links (Network); -1: reducing
  Cluster cluster;
  Costs costs{};
};

/// For the share of each in a closed form. A measured line does not say.
std::vector<Cheaper> cheaper_clusters(const Cluster& cluster) {
  std::vector<Cheaper> all;
  if (cluster.is_fitted()) return all;
  const Link free = {.bandwidth = Rate(std::numeric_limits<double>::infinity()), .latency = Seconds(0)};
  Cluster next = cluster;
  next.reduce = SecondsPerByte(0);
  all.push_back({-1, next});
  next.intra_node = free;
  all.push_back({Network::inside_node, next});
  if (!cluster.regions) return all;
  next.link = free;
  all.push_back({Network::of_nodes, next});
  return all;
}

ServerPlaces server_places(const Scenario& scenario) {
  const Traffic& traffic = scenario.schedule.traffic;
  if (!traffic.servers) return {};
  ServerPlaces places = {.count = traffic.servers->servers, .colocated = traffic.servers->colocated};
  if (!traffic.servers_region) return places;
  const std::vector<Region>& regions = scenario.cluster.regions->list;
  const auto found =
      std::find_if(regions.begin(), regions.end(), [&](const Region& region) { return region.name == *traffic.servers_region; });
  places.region = static_cast<std::size_t>(found - regions.begin());
  return places;
}

/// What the function returns, called in a process of its own. Throws SimulationError with its error.
Seconds calculated_apart(const std::function<Seconds()>& function) {
  const Outcome outcome = run_apart([&] { return fmt::format("{}", function().value); });
  if (!outcome.ok) throw SimulationError(outcome.error);
  return Seconds(std::stod(outcome.result));
}

int gpus_per_rank(const Scenario& scenario) {
  return scenario.schedule.traffic.ranks == RankKind::node ? scenario.cluster.gpus_per_node : 1;
}

}  // namespace

Bytes value_size(const Trace& trace) { return Bytes(trace.dtype == "fp16" || trace.dtype == "bf16" ? 2 : 4); }

StepProfile profile_of(const Scenario& scenario) { return profile_of(scenario, *scenario.trace); }

StepProfile profile_of(const Scenario& scenario, const Trace& trace) {
  StepProfile profile = step_profile(trace, scenario.granularity);
  const Pace& pace = scenario.schedule.pace;
  if (pace.update) profile.update = pace.update(profile);
  profile.update = profile.update / pace.steps_per_update;
  return profile;
}

void Setup::add_own_steps() {
  const std::vector<std::shared_ptr<const Trace>>& traces = scenario_.speed.traces;
  if (traces.empty()) return;
  std::map<const Trace*, std::shared_ptr<const OwnStep>> steps;  // one for all ranks with the same trace
  for (const auto& trace : traces) {
    auto& step = steps[trace.get()];
    if (!step) step = std::make_shared<const OwnStep>(profile_, trace ? profile_of(scenario_, *trace) : profile_);
  }
  for (std::size_t first = 0; first < traces.size(); first += at(gpus_per_rank_)) {
    std::shared_ptr<const OwnStep> slowest = steps.at(traces[first].get());
    bool are_own = traces[first] != nullptr;
    for (std::size_t gpu = first + 1; gpu < first + at(gpus_per_rank_); ++gpu) {
      are_own = are_own || traces[gpu] != nullptr;
      if (traces[gpu] != traces[first]) slowest = std::make_shared<const OwnStep>(OwnStep::slowest(*slowest, *steps.at(traces[gpu].get())));
    }
    own_.push_back(are_own ? slowest : nullptr);
  }
}

Setup::Setup(const Scenario& scenario, PointOptions options)
    : scenario_(scenario),
      options_(std::move(options)),
      profile_(profile_of(scenario)),
      gpus_per_rank_(gpus_per_rank(scenario)),
      ranks_(scenario.cluster.workers() / gpus_per_rank_),
      ranks_per_node_(scenario.cluster.gpus_per_node / gpus_per_rank_),
      region_order_(fastest_region_order(scenario.cluster, profile_.bytes())),
      network_(scenario.cluster, ranks_per_node_, server_places(scenario), region_order_),
      planned_(scenario.cluster, scenario.all_reduce, network_, ranks_per_node_) {
  add_own_steps();
  add_streams();
}

Setup::Setup(const Scenario& scenario, const Cluster& cluster, NetworkShare share, PointOptions options)
    : scenario_(scenario),
      options_(std::move(options)),
      profile_(profile_of(scenario)),
      gpus_per_rank_(gpus_per_rank(scenario)),
      ranks_(scenario.cluster.workers() / gpus_per_rank_),
      ranks_per_node_(scenario.cluster.gpus_per_node / gpus_per_rank_),
      network_(cluster, std::move(share), ranks_per_node_, server_places(scenario)),
      planned_(scenario.cluster, scenario.all_reduce, network_, ranks_per_node_) {
  add_own_steps();
  add_streams();
}

void Setup::add_streams() {
  if (scenario_.cluster.workers() == 1) return;  // nobody to communicate with
  const RankPlaces places = {ranks_, ranks_per_node_, regions_of_nodes(scenario_.cluster, region_order_)};
  for (const StreamTraffic& traffic : scenario_.schedule.traffic.streams) {
    StreamSetup stream = {traffic.groups(places), traffic.rules, traffic.operations, traffic.follows};
    if (scenario_.channels) stream.rules.channels = *scenario_.channels;
    for (const Communicator& group : stream.groups) {
      for (const Operation operation : traffic.operations) collectives_.push_back({operation, group});
    }
    streams_.push_back(std::move(stream));
  }
}

bool Setup::overlaps_collectives() const {
  return std::any_of(streams_.begin(), streams_.end(), [](const StreamSetup& stream) { return stream.rules.channels > 1; });
}

bool Setup::serves_by_flows() const {
  const Cluster& cluster = scenario_.cluster;
  return scenario_.schedule.traffic.servers && (cluster.regions || cluster.link.window > Bytes(0) || cluster.link.jitter.varies());
}

bool Setup::may_move_in_lockstep(Fidelity fidelity) const {
  const Cluster& cluster = scenario_.cluster;
  const Schedule& schedule = scenario_.schedule;
  const auto& servers = schedule.traffic.servers;
  const bool equal_clients = !servers || (servers->service != Service::fifo && (!servers->colocated || servers->servers == cluster.nodes));
  if (!schedule.pace.waits_for_all || !equal_clients || !scenario_.speed.uniform()) return false;
  if (cluster.workers() == 1) return true;
  if (fidelity == Fidelity::simgrid) return false;
  const bool all_together =
      std::all_of(streams_.begin(), streams_.end(), [](const StreamSetup& stream) { return stream.groups.size() == 1; });
  if (!all_together || serves_by_flows() || (cluster.regions && !schedule.traffic.has_collectives())) return false;
  if (fidelity == Fidelity::alpha_beta) return true;
  if (shares_links(fidelity) || network_.latencies_vary()) return false;
  return schedule.traffic.has_collectives() || cluster.is_star();
}

bool Setup::moves_in_lockstep(Fidelity fidelity) {
  if (!may_move_in_lockstep(fidelity)) return false;
  const AllReduce& all_reduce = scenario_.all_reduce;
  const int nodes = scenario_.cluster.nodes;
  const bool is_regular = network_.is_star() && all_reduce.chunk == Bytes(0) && !all_reduce.across_gpus;
  // A plan over few nodes is as symmetric as one over all: tests/unit/test_plans.cpp.
  const int few = std::has_single_bit(at(nodes)) ? std::min(nodes, 4) : 3;
  return fidelity == Fidelity::alpha_beta || std::all_of(collectives_.begin(), collectives_.end(), [&](const Collective& collective) {
           if (!is_regular) return planned_.in_lockstep(collective.operation, collective.communicator, profile_.bytes());
           const auto symmetric = [&](const AllReduce& one) {
             return is_symmetric(make_plan(one, collective.operation, {.nodes = few, .ranks_per_node = ranks_per_node_}, {}));
           };
           if (all_reduce.candidates.empty()) return symmetric(all_reduce);
           return std::all_of(all_reduce.candidates.begin(), all_reduce.candidates.end(), symmetric);
         });
}

bool Setup::repeats_collectives() const {
  return options_.shortcuts && scenario_.speed.uniform() && scenario_.schedule.pace.waits_for_all && scenario_.cluster.latency_cv == 0.0 &&
         !network_.latencies_vary() && !overlaps_collectives() && streams_.size() == 1 && streams_.front().groups.size() == 1;
}

NetworkModel Setup::model(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::per_message: return PerMessage{&planned_};
    case Fidelity::flow: return PerFlow{&planned_};
    case Fidelity::simgrid: {
      PerFlow in_simgrid = {&planned_, scenario_.simgrid};
      in_simgrid.simgrid->paje = options_.paje;
      return in_simgrid;
    }
    case Fidelity::alpha_beta: break;
  }
  const auto costs_on = [this](const Cluster& cluster) {
    Costs costs;
    for (const Collective& collective : collectives_) {
      costs.try_emplace(collective.communicator, cluster, scenario_.all_reduce, collective.communicator, ranks_per_node_, region_order_);
    }
    return costs;
  };
  const auto costs = std::make_shared<const Costs>(costs_on(scenario_.cluster));
  AlphaBeta model = {[costs](Operation operation, const Communicator& communicator, Bytes bytes, bool queued) {
                       return costs->at(communicator)(operation, bytes, queued);
                     },
                     {}};
  if (!options_.explain && !options_.timeline) return model;
  const auto cheaper = std::make_shared<std::vector<Cheaper>>(cheaper_clusters(scenario_.cluster));
  for (Cheaper& next : *cheaper) next.costs = costs_on(next.cluster);
  const int rest = scenario_.cluster.regions && !scenario_.cluster.is_fitted() ? Network::of_regions : Network::of_nodes;
  model.pieces = [costs, cheaper, rest](Operation operation, const Communicator& communicator, Bytes bytes, bool queued) {
    std::vector<CollectiveTime> times = {costs->at(communicator)(operation, bytes, queued)};
    for (const Cheaper& next : *cheaper) times.push_back(next.costs.at(communicator)(operation, bytes, queued));
    const auto link = [&](std::size_t i) { return i < cheaper->size() ? (*cheaper)[i].link : rest; };
    std::vector<PathPiece> pieces;
    // Round a ring of different links a part can come out below 0, and counts as nothing.
    const auto split = [&](PathClass kind, Seconds CollectiveTime::*part) {
      const std::size_t first = pieces.size();
      Seconds sum;
      for (std::size_t i = 0; i < times.size(); ++i) {
        const Seconds length = std::max(Seconds(0), times[i].*part - (i + 1 < times.size() ? times[i + 1].*part : Seconds(0)));
        const bool reduces = link(i) < 0;
        if (length == Seconds(0) || (reduces && kind == PathClass::latency)) continue;
        pieces.push_back({.length = length, .kind = reduces ? PathClass::reduce : kind, .link = link(i)});
        sum += length;
      }
      for (std::size_t i = first; i < pieces.size(); ++i) pieces[i].length = times.front().*part / sum * pieces[i].length;
    };
    split(PathClass::latency, &CollectiveTime::latency);
    split(PathClass::transfer, &CollectiveTime::transfer);
    return pieces;
  };
  return model;
}

int Setup::flows_per_exchange() const {
  return static_cast<int>(options_.shortcuts ? network_.alike_servers().size() : network_.server_ranks().size());
}

CollectiveTime Setup::message_time(Fidelity fidelity, int from, int to, Bytes bytes) {
  const Hop hop = fidelity == Fidelity::alpha_beta ? network_.direct_hop(from, to) : network_.hop(from, to);
  return {hop.latency, hop.beta * bytes};
}

ScheduleInput Setup::schedule_input(Fidelity fidelity) {
  ScheduleInput input = {profile_, scenario_.trace->update,      CostCurve(),           PushPullCost(),
                         ranks_,   value_size(*scenario_.trace), scenario_.cluster.copy};
  if (scenario_.schedule.groups_by_cost && scenario_.cluster.workers() > 1) input.collective = collective_cost(fidelity);
  return input;
}

Grouping Setup::grouping(Fidelity fidelity) {
  if (!scenario_.schedule.groups || scenario_.cluster.workers() == 1) return {};
  return scenario_.schedule.groups(schedule_input(fidelity));
}

CostCurve Setup::group_cost(Fidelity fidelity) {
  ScheduleInput input = schedule_input(fidelity);
  input.collective = collective_cost(fidelity);
  return scenario_.schedule.group_cost(input);
}

Job Setup::job(Fidelity fidelity) {
  const Schedule& schedule = scenario_.schedule;
  const bool is_alone = scenario_.cluster.workers() == 1 && !schedule.traffic.servers;
  Job job;
  job.profile = profile_;
  job.speed = scenario_.speed;
  job.own = own_;
  job.ranks = ranks_;
  job.gpus_per_rank = gpus_per_rank_;
  job.model = model(fidelity);
  job.streams = streams_;
  job.host = scenario_.cluster.host.collective;
  job.latency_cv = scenario_.cluster.latency_cv;
  job.within_node = all_reduce_within_node(scenario_.cluster);
  job.message = [this, fidelity](int from, int to, Bytes bytes) { return message_time(fidelity, from, to, bytes); };
  ScheduleInput input = schedule_input(fidelity);
  job.sends_more = schedule.traffic.servers || schedule.traffic.peers;
  job.asks_peers = schedule.traffic.peers && schedule.traffic.peers->drawn;
  if (schedule.traffic.servers) {
    job.servers = place_servers(*schedule.traffic.servers, scenario_.cluster);
    job.servers->may_join = options_.shortcuts && fidelity != Fidelity::simgrid;
    job.servers->as_flows = shares_links(fidelity) || serves_by_flows();
    input.push_pull = serves_by_flows() ? push_pull_cost(*job.servers, ranks_, network_) : push_pull_cost(*job.servers, ranks_);
  }
  job.program = is_alone ? single_worker(schedule.pace, schedule.pace.steps_per_update * profile_.update) : schedule.program(input);
  job.warmup = (is_alone ? 0 : schedule.pace.steps_before_warmup) + scenario_.warmup;
  job.measured = scenario_.measured;
  if (!schedule.waits_for_slowest()) job.most_steps = options_.most_steps;  // else they are counted beforehand
  job.updates_in_forward = schedule.pace.updates_in_forward;
  job.steps_per_round = schedule.pace.steps_per_round;
  job.lockstep = stands_for_all(fidelity);
  job.run_ahead = options_.may_be_one();
  job.shortcuts = options_.shortcuts && fidelity != Fidelity::simgrid;  // all messages are SimGrid's
  if (options_.dataflow) job.dataflow = std::make_shared<Dataflow>(parts(is_alone, input), *options_.dataflow, ranks_);
  if (options_.timeline) job.shown_workers = options_.timeline->workers(job.simulated(), scenario_.cluster.workers() / job.simulated());
  const bool is_shown_in_full = options_.timeline && job.simulated() <= TimelineView::most_in_full;
  job.records_causes = (options_.explain || is_shown_in_full) && fidelity != Fidelity::simgrid;
  job.keeps_messages = is_shown_in_full && job.sends_more;
  if (options_.timeline) job.shown_time = std::make_shared<ShownTime>(job.shown_workers, options_.timeline->iterations);
  if (options_.timeline && !job.lockstep) job.collective_messages.emplace(job.shown_workers, job.shown_time);
  return job;
}

std::vector<ModelPart> Setup::parts(bool is_alone, const ScheduleInput& input) const {
  if (scenario_.schedule.parts && !is_alone) {
    std::vector<ModelPart> parts = scenario_.schedule.parts(input);
    if (parts.size() > 1) return parts;
  }
  return {{"model", profile_.bytes()}};
}

CostCurve Setup::collective_cost(Fidelity fidelity) {
  const auto known = costs_.find(fidelity);
  return known != costs_.end() ? known->second : costs_.emplace(fidelity, find_cost(fidelity)).first->second;
}

CostCurve Setup::find_cost(Fidelity fidelity) {
  const Groups& groups = streams_.front().groups;
  const Communicator largest =
      *std::max_element(groups.begin(), groups.end(), [](const Communicator& a, const Communicator& b) { return a.size() < b.size(); });
  CostCurve alone = cost_without_host(largest, fidelity);
  const Seconds start_up = scenario_.cluster.host.collective.start_up(largest.size());
  if (start_up == Seconds(0)) return alone;
  return CostCurve([alone, start_up](Bytes bytes) { return alone.tangent(bytes) + CostLine{start_up, SecondsPerByte(0)}; });
}

CollectiveTime Setup::closed_form(const AllReduce& all_reduce, Bytes bytes) const {
  const CollectiveCosts costs(scenario_.cluster, all_reduce, Communicator(ranks_), ranks_per_node_, region_order_);
  return costs(collectives_.front().operation, bytes);
}

CostCurve Setup::cost_without_host(const Communicator& largest, Fidelity fidelity) {
  const Operation operation = collectives_.front().operation;
  const Bytes bytes = profile_.bytes();
  if (fidelity == Fidelity::alpha_beta) {
    return CollectiveCosts(scenario_.cluster, scenario_.all_reduce, largest, ranks_per_node_, region_order_).curve(operation, bytes);
  }
  if (planned_.has_candidates()) return planned_.curve(operation, largest, bytes);
  const CollectiveTime of_no_bytes = planned_.time(operation, largest, Bytes(0));
  Seconds all = planned_(operation, largest, bytes).times().from_equal_starts(bytes);
  if (shares_links(fidelity)) {
    Job once;
    once.profile = {.layers = {}, .gradients = profile_.gradients, .forward = Seconds(1), .backward = Seconds(0), .update = Seconds(0)};
    once.ranks = ranks_;
    once.gpus_per_rank = gpus_per_rank_;
    once.model = model(fidelity);
    if (auto& simgrid = std::get<PerFlow>(once.model).simgrid) simgrid->paje.clear();
    once.streams = {{.groups = streams_.front().groups, .operations = {operation}}};
    once.run_ahead = options_.shortcuts;
    once.shortcuts = options_.shortcuts && fidelity != Fidelity::simgrid;
    once.draws_latencies = false;
    once.program = [payload = whole_model(profile_), operation](Worker& worker) {
      while (worker.next_step()) {
        worker.forward();  // which takes time, as a step must: a group of one rank's collective takes none
        worker.collectives().wait(worker.collectives().post(payload, worker.step(), {.operation = operation}));
      }
    };
    const auto longest = [&] {
      Seconds longest_span;
      const Timeline timeline = simulate({once}, network_);
      for (const CollectiveSpan& span : timeline.front().collectives) longest_span = std::max(longest_span, span.end - span.start);
      return longest_span;
    };
    // SimGrid traces one simulation of a process.
    all = options_.paje.empty() ? longest() : calculated_apart(longest);
  }
  return CostLine{of_no_bytes.latency, SecondsPerByte((all - of_no_bytes.latency).value / bytes.value)};
}

}  // namespace syncopate
