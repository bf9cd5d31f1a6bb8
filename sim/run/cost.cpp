#include "run/cost.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/errors.hpp"
#include "base/indexed.hpp"
#include "goodput/checkpoint_interval.hpp"
#include "metrics/metrics.hpp"
#include "run/measured_window.hpp"
#include "run/run_plan.hpp"

namespace syncopate {

namespace {

constexpr double repetitions = 2.0;  // of a window that goes on: with fewer iterations before, at most half as many each time

double variation_of(const Jitter& jitter) {
  if (jitter.factors.empty()) return jitter.cv;
  const std::vector<double>& factors = jitter.factors;
  const double squares = std::inner_product(factors.begin(), factors.end(), factors.begin(), 0.0) / static_cast<double>(factors.size());
  return std::sqrt(std::max(0.0, squares - 1.0));
}

/// The widest of what is drawn, as a coefficient of variation.
double variation_of(const Scenario& scenario) {
  double widest = 0.0;
  for (const Scenario* training : scenario.trainings()) {
    const Cluster& cluster = training->cluster;
    widest = std::max({widest, variation_of(training->speed.jitter), variation_of(cluster.link.jitter), cluster.latency_cv});
  }
  return widest;
}

/// Of the busiest links' use, in a step of so many messages of each worker: a link that all workers' messages cross changes with each of
/// them, and those that collectives cross are mostly used alike.
double changes_of_link_use(const Scenario& scenario, int simulated, double messages) {
  const Traffic& traffic = scenario.schedule.traffic;
  if (scenario.fidelity == Fidelity::alpha_beta) return 0.0;
  if ((traffic.servers || traffic.peers) && simulated > TimelineView::most_in_full) return 0.0;
  return traffic.servers ? simulated * messages : messages;
}

/// Of one simulation of the scenario by that plan. Fitted to the processor time of 130 random points and of the shipped scenarios.
Seconds time_of(const Scenario& scenario, const RunPlan& plan) {
  constexpr Seconds of_start(7e-4);
  constexpr Seconds of_rank(1.6e-7);  // whether or not it is simulated
  constexpr Seconds of_actors(3e-3);  // without loading their library
  constexpr Seconds of_worker(1.2e-4);
  constexpr Seconds of_step(2e-6);
  constexpr Seconds of_step_alone(4.5e-7);
  constexpr Seconds of_wake(2.6e-6);
  constexpr Seconds of_post(2.8e-7);
  constexpr Seconds of_collective(3.3e-6);
  constexpr Seconds of_closed_form(1.3e-6);
  constexpr Seconds of_planned(7e-8);
  constexpr Seconds of_recurred(2.2e-9);
  constexpr Seconds of_message(9e-7);
  constexpr double ranks_in_cache = 1000.0;
  constexpr Seconds of_flow(6.3e-7);
  constexpr Seconds of_met_flow(4.1e-9);
  constexpr Seconds of_exchange(2.4e-6);
  const RunCounts& counts = plan.counts;
  const Seconds workers = plan.has_actors() ? of_actors + plan.simulated * of_worker + counts.steps * of_step + counts.posts * of_post
                                            : counts.steps * of_step_alone;
  const Seconds collectives = counts.collectives * (plan.fidelity == Fidelity::alpha_beta ? of_closed_form : of_collective);
  const Seconds messages = plan.fidelity == Fidelity::simgrid
                               ? (counts.messages + counts.flows) * message_in_simgrid(scenario, plan.ranks)
                               : (1.0 + plan.ranks / ranks_in_cache) * (counts.messages * of_message + counts.flows * of_flow);
  return of_start + plan.ranks * of_rank + workers + counts.wakes * of_wake + collectives + counts.planned * of_planned +
         counts.recurred * of_recurred + messages + counts.met_flows * of_met_flow + counts.exchanges * of_exchange;
}

/// Of playing a run of days, with the speeds of as many nodes as failures may leave: `once` each.
Seconds time_of_long_run(const Scenario& scenario, Seconds once) {
  constexpr Seconds of_failure(3e-7);
  constexpr Seconds of_checkpoint(2.2e-8);
  const LongRun& run = *scenario.run;
  const Seconds step = least_step(scenario, profile_of(scenario));
  const double samples_per_step = static_cast<double>(scenario.trace->batch) * scenario.cluster.workers();
  const Seconds length = (run.samples ? *run.samples / samples_per_step : run.steps) * step;
  const double failures = length / time_between_failures(run.failures, run.nodes);
  const double checkpoints = run.checkpoints ? length / checkpoint_interval(run, step) : 0.0;
  const double absent = failures * std::min(1.0, run.policy.repair / length);
  const double most_sizes = scenario.smaller ? static_cast<double>(scenario.smaller->size()) : 0.0;
  const double sizes = run.policy.may_shrink() ? std::min(2.0 * absent, most_sizes) : 0.0;
  const double plays = run.failures.empty() ? 1.0 : run.seeds;
  return plays * (failures * of_failure + checkpoints * of_checkpoint) + sizes * once;
}

Bytes memory_of(const RunPlan& plan) {
  constexpr Bytes of_process(8e6);
  constexpr Bytes of_rank(140);
  constexpr Bytes of_actors(28e6);
  constexpr Bytes of_worker(15e3);  // two pages of a stack, and the worker
  constexpr Bytes of_step(80);
  constexpr Bytes of_post(110);  // that moves
  const RunCounts& counts = plan.counts;
  const Bytes workers = plan.has_actors() ? of_actors + plan.simulated * of_worker : Bytes(0);
  return of_process + plan.ranks * of_rank + workers + counts.steps * of_step + (counts.collectives + counts.exchanges) * of_post;
}

/// Messages of collectives that a timeline keeps, and those that it shows.
struct TimelineMessages {
  double kept = 0.0;
  double shown = 0.0;
};
TimelineMessages messages_of(const Scenario& scenario, const RunPlan& plan, const TimelineView& view) {
  if (plan.counts.steps == 0.0) return {};
  const int simulated = plan.simulated;
  const auto workers = static_cast<double>(view.workers(simulated, scenario.cluster.workers() / simulated).size());
  const double steps = plan.counts.steps / simulated;
  const double shown_steps = view.iterations ? std::min(steps, view.iterations->last - view.iterations->first + 1.0) : steps;
  const double all = shown_steps / steps * plan.counts.shown;
  return {std::min(MessageLog::most, all), std::min(MessageLog::most_shown, workers / simulated * all)};
}

Bytes timeline_of(const Scenario& scenario, const RunPlan& plan, const TimelineView& view) {
  constexpr Bytes of_slice(165);
  constexpr Bytes of_arrow(190);
  constexpr Bytes of_change(110);
  constexpr Bytes of_message(560);  // with its arrow
  constexpr double compressed = 0.1;
  const int simulated = plan.simulated;
  const auto workers = static_cast<double>(view.workers(simulated, scenario.cluster.workers() / simulated).size());
  const double steps = view.iterations ? view.iterations->last - view.iterations->first + 1.0 : steps_of(scenario);
  const auto layers = static_cast<double>(scenario.trace->layers.size());
  const auto gradients = static_cast<double>(scenario.trace->gradients.size());
  const double posts =
      plan.counts.steps > 0.0 ? plan.counts.posts / plan.counts.steps : 0.0;  // more than gradients where they move in parts
  const double messages = std::max(gradients, posts) * (scenario.schedule.traffic.servers ? 2.0 : 1.0);
  constexpr double phases = 6.0;
  const double changes = changes_of_link_use(scenario, simulated, messages);
  constexpr double links = 10.0;
  constexpr double most_of_link = 20'000.0;
  const TimelineMessages kept = messages_of(scenario, plan, view);
  const double changes_of_messages = links * std::min(most_of_link, 2.0 * kept.kept / simulated);
  const Bytes bytes = steps * (workers * ((2.0 * layers + messages + phases) * of_slice + gradients * of_arrow) + changes * of_change) +
                      kept.shown * of_message + changes_of_messages * of_change;
  return view.compressed ? compressed * bytes : bytes;
}

/// Lines of a record of the dataflow: of each part in each step a gradient, what is sent of it, and the model that follows.
double record_of(const Scenario& scenario, const RunPlan& plan) {
  const Schedule& schedule = scenario.schedule;
  const bool in_parts = schedule.parts && (schedule.pace.is_lossy || (schedule.traffic.servers && schedule.traffic.servers->asynchronous));
  constexpr double lines = 3.0;
  return lines * (in_parts ? std::max(plan.counts.posts, plan.counts.steps) : plan.counts.steps);
}

/// Of jobs on one network: of all of them together, and then of each alone. Until all have been measured, whoever is faster goes on.
Cost cost_of_jobs(const Scenario& scenario, const PointOptions& options) {
  std::vector<Seconds> lengths;  // the least that each takes
  for (const SharingJob& job : scenario.jobs->list) {
    lengths.push_back(job.start + steps_of(job.scenario) * least_step(job.scenario, profile_of(job.scenario)));
  }
  const Seconds longest = *std::max_element(lengths.begin(), lengths.end());
  Cost all;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    Scenario job = scenario.jobs->list[i].scenario;
    const Cost alone = estimate_cost(job, i == 0 ? options : PointOptions{.shortcuts = options.shortcuts});
    const double longer = longest / lengths[i];
    all.steps += (1.0 + longer) * alone.steps;
    all.time += (1.0 + longer) * alone.time;
    all.memory += alone.memory;
    all.has_actors = true;
  }
  return all;
}

}  // namespace

CostEstimate::CostEstimate(const Scenario& scenario, PointOptions options)
    : scenario_(scenario), options_(std::move(options)), fixed_(scenario) {
  fixed_.chooses_window = false;
}

RunPlan CostEstimate::plan(int measured) {
  fixed_.measured = measured;
  try {
    if (!setup_ && !has_failed_) setup_ = std::make_unique<Setup>(fixed_, options_);
    if (setup_) {
      RunPlan plan = estimate_plan(*setup_);
      if (paces_) plan.counts = estimate_counts(*setup_, plan, paces_);
      return plan;
    }
  } catch (const SimulationError&) {  // the simulation throws it again, and says why
    has_failed_ = true;
  }
  const int workers = scenario_.cluster.workers();
  return {.ranks = workers, .simulated = workers};
}

void CostEstimate::see_paces() {
  const Schedule& schedule = scenario_.schedule;
  const bool plan_tells_steps = schedule.waits_for_slowest() && schedule.pace.steps_per_round == 0;
  if (scenario_.jobs || plan_tells_steps) return;
  (void)lengths();
  const RunPlan by_formulas = plan(scenario_.measured);
  if (setup_ && !has_failed_) paces_ = syncopate::see_paces(fixed_, by_formulas);
}

Cost CostEstimate::of(int measured) {
  if (scenario_.jobs) {
    fixed_.set_measured(measured);
    return cost_of_jobs(fixed_, options_);
  }
  const RunPlan its_plan = plan(measured);
  Cost cost = {its_plan.counts.steps, time_of(scenario_, its_plan), memory_of(its_plan), its_plan.has_actors()};
  if (scenario_.run) cost.time += time_of_long_run(fixed_, cost.time);
  if (options_.dataflow) {
    constexpr Bytes of_line(50);  // compressed, on its way to the process that writes it, too
    constexpr Seconds to_write(1.5e-6);
    const double lines = record_of(fixed_, its_plan);
    cost.memory += lines * of_line;
    cost.time += lines * to_write;
  }
  if (!options_.timeline) return cost;
  constexpr double in_memory = 4.5;  // times the file
  constexpr SecondsPerByte of_file(3.5e-8);
  TimelineView view = *options_.timeline;
  view.compressed = false;
  const Bytes file = timeline_of(fixed_, its_plan, view);
  constexpr Bytes of_kept_message(200);  // while the vector of all grows
  cost.memory += in_memory * file + messages_of(fixed_, its_plan, view).kept * of_kept_message;
  cost.time += of_file * file;
  return cost;
}

const WindowLengths& CostEstimate::lengths() {
  if (lengths_) return *lengths_;
  const bool is_plain = options_.shortcuts && !options_.dataflow && !options_.timeline && !options_.explain;
  if (!is_plain) return lengths_.emplace(CostEstimate(scenario_).lengths());
  const double rounds = std::max(1, scenario_.schedule.pace.steps_per_round);
  return lengths_.emplace(window_lengths(scenario_, [&] {
    const Seconds time = of(scenario_.measured).time;
    return time / (steps_of(fixed_) / rounds);
  }));
}

Cost CostEstimate::first() { return of(scenario_.chooses_window && scenario_.measures_until() ? lengths().first : scenario_.measured); }

int CostEstimate::most_measured() {
  constexpr double deviations = 2.0;  // in half an interval of 95%
  const double needed = std::pow(deviations * variation_of(scenario_) / lengths().half_width, 2);
  const double fewest = std::max(lengths().first, lengths().fewest);
  return static_cast<int>(std::ceil(std::clamp<double>(needed, fewest, std::max<double>(fewest, lengths().most))));
}

Cost CostEstimate::most() {
  if (!scenario_.measures_until()) return first();
  const int measured = most_measured();
  Cost cost = of(measured);
  if (measured <= lengths().first) return cost;
  cost.steps = repetitions * cost.steps;
  cost.time = repetitions * cost.time;
  return cost;
}

Cost CostEstimate::with_longest_window(Cost most) {
  const bool may_go_on = (scenario_.chooses_window || scenario_.until) && !scenario_.has_events() && variation_of(scenario_) == 0.0;
  if (!may_go_on || (!scenario_.jobs && plan(scenario_.measured).simulated == 1)) return most;
  const Cost whole = of(std::max(lengths().most, scenario_.measured));
  most.steps = std::max(most.steps, repetitions * whole.steps);
  most.time = std::max(most.time, repetitions * whole.time);
  most.memory = std::max(most.memory, whole.memory);
  return most;
}

Bytes CostEstimate::timeline(const TimelineView& view) {
  const bool is_whole = scenario_.measures_until() && (!scenario_.chooses_window || view.is_whole);
  const RunPlan its_plan = plan(is_whole ? most_measured() : scenario_.measured);
  return timeline_of(fixed_, its_plan, view);
}

Cost estimate_cost(const Scenario& scenario, const PointOptions& options) { return CostEstimate(scenario, options).first(); }

Bytes estimate_timeline(const Scenario& scenario, const TimelineView& view, bool shortcuts) {
  return CostEstimate(scenario, {.shortcuts = shortcuts}).timeline(view);
}

TimeLeft::TimeLeft(std::vector<Seconds> costs, int parallel)
    : costs_(std::move(costs)), all_(std::accumulate(costs_.begin(), costs_.end(), Seconds(0))), parallel_(parallel) {}

void TimeLeft::finish(std::size_t task) { finished_ += costs_[task]; }

Seconds TimeLeft::operator()(Seconds elapsed, const std::vector<RunningTask>& running) const {
  Seconds done = finished_;
  for (const RunningTask& task : running) {
    if (task.headway.all > 0) done += static_cast<double>(task.headway.done) / task.headway.all * costs_[at(task.index)];
  }
  if (done == Seconds(0)) return std::max(Seconds(0), all_ / std::min<double>(parallel_, static_cast<double>(costs_.size())) - elapsed);
  return (all_ / done - 1.0) * elapsed;
}

}  // namespace syncopate
