#include "run/point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "base/errors.hpp"
#include "base/indexed.hpp"
#include "base/memory.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "engine/clock/actors.hpp"
#include "engine/simulate.hpp"
#include "metrics/metrics.hpp"
#include "run/cost.hpp"
#include "run/jobs.hpp"
#include "run/measure_point.hpp"
#include "run/measured_window.hpp"
#include "run/play_run.hpp"
#include "run/replicates.hpp"
#include "run/run_plan.hpp"
#include "run/usual_networks.hpp"

namespace syncopate {

namespace {

/// Notes where many more or fewer gradient steps were simulated than was expected: estimates and limits rest on that.
void compare_steps(const Scenario& scenario, const PointOptions& options, const RunPlan& plan, const JobTimeline& timeline, Json& details) {
  constexpr double within = 3.0;
  if (!plan.has_actors() || scenario.schedule.waits_for_slowest()) return;  // they are counted exactly
  double steps = 0.0;
  for (const std::vector<Step>& worker : timeline.steps) steps += static_cast<double>(worker.size());
  const double expected = plan_of(scenario, options).counts.steps;
  if (steps > within * expected || within * steps < expected) details["steps"] = {{"expected", expected}, {"simulated", steps}};
}

/// Of a window that chooses its length, only the first iterations of a timeline are shown, unless it says which.
PointOptions with_first_iterations(const Scenario& scenario, PointOptions options) {
  if (scenario.chooses_window && options.timeline && options.timeline->is_open()) options.timeline->shorten(scenario);
  return options;
}

PointResult simulate_once(const Point& point, const PointOptions& options) {
  if (point.scenario.jobs) return simulate_jobs(point, options);
  Setup setup(point.scenario, options);
  const RunPlan plan = plan_of(setup);
  Job job = setup.job(plan.fidelity);
  const int iterations = job.warmup + job.measured;
  job.on_iteration = [iterations](int iteration) { tell_headway({std::min(iteration, iterations), iterations}); };
  const Timeline timeline = simulate({job}, setup.network());
  PointResult result = measure_point(point, setup, job, timeline.front(), plan);
  compare_steps(point.scenario, options, plan, timeline.front(), result.details);
  return result;
}

/// Of the training that is known least, of those that differ from cycle to cycle; 0 if there is none, empty if one is not known at all.
std::optional<double> widest_half(const Scenario& scenario, const PointResult& result) {
  const std::vector<const Scenario*> trainings = scenario.trainings();
  double widest = 0.0;
  for (std::size_t i = 0; i < trainings.size(); ++i) {
    const std::optional<double>& half = scenario.jobs ? result.jobs[i].iteration_half : result.iteration_half;
    if (!half && trainings[i]->is_sample()) return std::nullopt;
    widest = std::max(widest, half.value_or(0.0));
  }
  return widest;
}

/// Measures more and more until the mean is known as well as the scenario wants, or more cannot be had.
PointResult simulate_until(const Point& point, const PointOptions& options, const std::optional<WindowLengths>& known_lengths) {
  constexpr double least_growth = 2.0;
  constexpr double most_growth = 10.0;
  constexpr double while_it_grows = 2.0;  // what is recorded moves to a larger place
  const WindowLengths lengths = known_lengths ? *known_lengths : CostEstimate(point.scenario).lengths();
  const double wanted = lengths.half_width;
  const int cycle = point.scenario.schedule.pace.cycle;
  Point longer = point;
  PointResult result;
  std::optional<double> half;
  const auto simulate_iterations = [&](int iterations) {
    longer.scenario.set_measured(iterations);
    result = simulate_once(longer, options.without_files());
    half = widest_half(longer.scenario, result);
  };
  const PointOptions of_estimate = {.shortcuts = options.shortcuts, .dataflow = options.dataflow};
  const auto is_within = [&](int iterations) {
    if (iterations * static_cast<double>(point.scenario.all_workers()) > options.most_steps) return false;
    // Jobs that are done first go on.
    return !point.scenario.jobs || CostEstimate(point.scenario, of_estimate).of(iterations).steps <= options.most_steps;
  };
  simulate_iterations(is_within(lengths.first) ? lengths.first : std::min(lengths.first, point.scenario.measured));
  const Json note = point.scenario.fidelity ? Json() : result.details.value("fidelity_note", Json());
  longer.scenario.fidelity = result.fidelity;  // whatever more iterations would have `auto` choose
  const auto is_enough = [&] { return half && *half <= wanted && result.measured_iterations >= lengths.fewest; };
  CostEstimate estimate(longer.scenario, of_estimate);
  std::string why_not = "no more are simulated";
  while (!is_enough() && result.measured_iterations < lengths.most) {
    const int measured = result.measured_iterations;
    const double needed = half ? std::pow(*half / wanted, 2) : most_growth;
    const double most = std::min<double>(lengths.most, options.most_steps / point.scenario.all_workers());
    if (most < measured + cycle) {
      if (most < lengths.most) why_not = "more are over the limit of --max-steps";
      break;
    }
    const double next = std::max<double>(std::ceil(measured * std::clamp(needed, least_growth, most_growth)), lengths.fewest);
    const auto more = static_cast<int>(whole_cycles(static_cast<int>(std::min(most, next)), cycle));
    if (!is_within(more)) {
      why_not = "more are over the limit of --max-steps";
      break;
    }
    const Bytes memory = while_it_grows * estimate.of(more).memory;
    if (const Bytes left = std::min(available_memory(), available_addresses()); memory > left) {
      why_not = fmt::format("{} take about {} of memory, of which {} are left", more, format_bytes(memory), format_bytes(left));
      break;
    }
    try {
      simulate_iterations(more);
    } catch (const SimulationError& error) {
      why_not = fmt::format("more fail: {}", error.what());
      break;
    }
  }
  if (point.scenario.until && !is_enough()) {
    result.details["until_missed"] = half ? Json(*half) : Json();
    result.details["until_missed_because"] = why_not;
  }
  if (!note.is_null()) result.details["fidelity_note"] = note;
  if (!options.leaves_files()) return result;
  const bool shows_first_iterations = options.timeline && options.timeline->iterations && !options.explain && !options.dataflow;
  if (point.scenario.chooses_window && shows_first_iterations) {
    constexpr int enough_behind = 100;  // that what is shown can wait for, which is its slack
    longer.scenario.set_measured(
        std::min(result.measured_iterations, std::max(point.scenario.measured, options.timeline->iterations->last + enough_behind)));
    result.timeline = simulate_once(longer, options).timeline;
    return result;
  }
  longer.scenario.set_measured(result.measured_iterations);
  PointResult shown = simulate_once(longer, options);
  shown.details.update(result.details);
  return shown;
}

}  // namespace

namespace {

PointResult simulate_as_given(const Point& point, const PointOptions& options, const std::optional<WindowLengths>& lengths) {
  const Scenario& scenario = point.scenario;
  if (scenario.measures_until()) return simulate_until(point, options, lengths);
  PointResult result = simulate_once(point, options);
  const bool may_go_on = !scenario.has_events() && (scenario.chooses_window || scenario.until);
  if (scenario.is_sample() || widest_half(scenario, result) == 0.0 || !may_go_on) return result;
  return simulate_until(point, with_first_iterations(scenario, options), lengths);
}

/// Fills in the iteration over the faster and over the slower quartile of links of the cluster's kinds, unless a simulation fails.
void find_range(const Point& point, const PointOptions& options, PointResult& result) {
  const auto iteration_with = [&](double LinkKind::*share) {
    Point other = point;
    other.scenario.cluster = with_share(point.scenario.cluster, share);
    return simulate_as_given(other, options.without_files(), {}).metrics.iteration;
  };
  try {
    const Seconds fast = iteration_with(&LinkKind::high);
    result.iteration_slow = iteration_with(&LinkKind::low);
    result.iteration_fast = fast;
  } catch (const SimulationError&) {  // the point itself is known
  }
}

}  // namespace

PointResult simulate_point(const Point& point, const PointOptions& options, const std::optional<WindowLengths>& lengths) {
  PointResult result = simulate_as_given(point, options, lengths);
  if (options.range && has_range(point.scenario)) find_range(point, options, result);
  return result;
}

namespace {

/// The replicates of a point as they end.
class Gathering {
 public:
  explicit Gathering(const Scenario& scenario) : first_seed_(scenario.speed.seed), outcomes_(at(replicates_of(scenario))) {}

  /// Notes how a replicate ended. With the last one, returns how the point ended: with the first failure, if there is one.
  std::optional<Outcome> add(int replicate, const Outcome& outcome) {
    outcomes_[at(replicate)] = outcome;
    if (++ended_ < outcomes_.size()) return std::nullopt;
    const std::vector<Outcome> all = std::move(outcomes_);
    if (ended_ == 1) return outcome;
    std::vector<PointResult> results;
    results.reserve(all.size());
    for (std::size_t r = 0; r < all.size(); ++r) {
      if (!all[r].ok) {
        return Outcome{.ok = false,
                       .result = {},
                       .error = fmt::format("replicate {} (seed {}): {}", r, first_seed_ + r, all[r].error),
                       .code = all[r].code};
      }
      results.push_back(PointResult::unpack(all[r].result));
    }
    return Outcome{.ok = true, .result = mean_of(results).pack(), .error = {}};
  }

 private:
  std::uint64_t first_seed_;
  std::vector<Outcome> outcomes_;
  std::size_t ended_ = 0;
};

/// The options of each simulation of a point.
PointOptions options_within(const Limits& limits, const Scenario& scenario, PointOptions options) {
  if (scenario.measures_until()) options = with_first_iterations(scenario, std::move(options));
  options.most_steps = limits.steps / replicates_of(scenario);
  return options;
}

/// The outcome of another point that has the same result, which is not kept anywhere yet.
Outcome with_own_place(Outcome outcome) {
  if (!outcome.ok) return outcome;
  PointResult result = PointResult::unpack(outcome.result);
  result.is_kept = false;
  outcome.result = result.pack();
  return outcome;
}

std::string describe_overdue(const Scenario& scenario, Seconds most_time, const Headway& iterations) {
  const std::string faster = faster_fidelity(scenario);
  return fmt::format(
      "not done after {}, with {}; use {}fewer iterations or nodes, or allow more time", format_seconds(most_time),
      iterations.all == 0 ? "no iteration simulated" : fmt::format("{} of {} iterations simulated", iterations.done, iterations.all),
      faster.empty() ? "" : faster + ", ");
}

}  // namespace

void simulate_points(const std::vector<const Point*>& points, int jobs, const std::function<PointOptions(int index)>& options,
                     const std::function<void(int index, const Outcome&)>& done, const std::function<bool()>& interrupted,
                     const PointsWatch& watch) {
  struct Task {
    int point;
    int replicate;
    Seconds time;
  };
  std::vector<Task> tasks;
  std::vector<Bytes> memories;
  std::vector<std::optional<WindowLengths>> lengths(points.size());
  std::vector<Gathering> gatherings;
  gatherings.reserve(points.size());
  std::vector<std::string> refused(points.size());     // by index: why a point is not begun
  std::vector<std::vector<int>> likes(points.size());  // by index: those of points that get the same result
  bool any_has_actors = false;
  Limits limits = watch.limits;
  limits.memory = limits.most_memory();
  const auto options_of = [&](int point) { return options_within(limits, points[at(point)]->scenario, options(point)); };
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < static_cast<int>(points.size()); ++i) {
    const Point& point = *points[at(i)];
    gatherings.emplace_back(point.scenario);
    const std::optional<int> first = watch.same_as ? watch.same_as(i) : std::nullopt;
    if (first && refused[at(*first)].empty()) {
      likes[at(*first)].push_back(i);
      continue;
    }
    const PointOptions point_options = options_of(i);
    CostEstimate estimate(point.scenario, point_options);
    const Cost cost = cost_within(limits, estimate, point.scenario, std::chrono::steady_clock::now() - begin < most_time_to_see_paces);
    refused[at(i)] = describe_excess(point.scenario, cost, limits);
    if (!refused[at(i)].empty()) {
      done(i, {.ok = false, .result = {}, .error = refused[at(i)], .code = ExitCode::simulation_failed});
      continue;
    }
    const int networks = point_options.range ? networks_of(point.scenario) : 1;
    const Seconds time = networks * (point.scenario.measures_until() ? estimate.most().time : cost.time);
    if (point.scenario.measures_until()) lengths[at(i)] = estimate.lengths();
    for (int r = 0; r < replicates_of(point.scenario); ++r) {
      tasks.push_back({i, r, time});
      memories.push_back(cost.memory);
    }
    any_has_actors = any_has_actors || cost.has_actors;
  }
  if (tasks.size() > 1 && any_has_actors) load_actors();
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int parallel = count_fitting(std::move(memories), jobs > 0 ? jobs : cores, *limits.memory);
  if (parallel > 1) std::stable_sort(tasks.begin(), tasks.end(), [](const Task& a, const Task& b) { return a.time > b.time; });
  std::vector<Seconds> times;
  times.reserve(tasks.size());
  for (const Task& task : tasks) times.push_back(task.time);
  TimeLeft time_left(std::move(times), parallel);
  const auto simulate_task = [&](int index) {
    const auto& [point, r, time] = tasks[at(index)];
    PointOptions point_options = options_of(point);
    if (r > 0) {
      point_options.timeline.reset();
      point_options.dataflow.reset();
    }
    const Point& whole = *points[at(point)];
    const Point replicated = replicate(whole, r);
    PointResult result = simulate_point(replicated, point_options, lengths[at(point)]);
    if (whole.scenario.run) {
      result.goodput = play_run(replicated, result, whole.scenario.speed.seed, point_options);
      result.require_finite();
    }
    if (watch.keep && replicates_of(whole.scenario) == 1) watch.keep(point, result);
    return result.pack();
  };
  const auto gather = [&](int index, Outcome outcome) {
    time_left.finish(at(index));
    const auto& [point, r, time] = tasks[at(index)];
    if (outcome.crashed && points[at(point)]->scenario.fidelity == Fidelity::simgrid) {
      outcome.error += R"(; SimGrid may have ended it: try another "maxmin/precision" in "config", or "fidelity": "flow")";
    }
    const auto all = gatherings[at(point)].add(r, outcome);
    if (!all) return;
    done(point, *all);
    for (const int like : likes[at(point)]) done(like, with_own_place(*all));
  };
  const auto point_of = [&](const RunningTask& task) { return tasks[at(task.index)].point; };
  const auto start = std::chrono::steady_clock::now();
  const auto look = [&](const std::vector<RunningTask>& running) {
    const Seconds elapsed(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    PointsProgress progress = {time_left(elapsed, running), std::nullopt};
    for (const RunningTask& task : running) {
      if (!progress.longest || task.time > progress.longest->time) progress.longest = {point_of(task), task.time, task.headway};
    }
    watch.look(progress);
  };
  const auto overdue = [&](const RunningTask& task) {
    return describe_overdue(points[at(point_of(task))]->scenario, *limits.time, task.headway);
  };
  Watch watch_tasks = {.look = watch.look ? look : Watch().look, .most_time = limits.time, .overdue = overdue};
  if (watch.stalled) {
    watch_tasks.stalled = [&](RunningTask task) {
      task.index = point_of(task);
      watch.stalled(task);
    };
  }
  // SimGrid keeps its settings and its clock for a process: what it simulates has a process of its own.
  const bool any_in_simgrid =
      std::any_of(points.begin(), points.end(), [](const Point* point) { return point->scenario.fidelity == Fidelity::simgrid; });
  const auto can_go_on = [any_in_simgrid] { return any_in_simgrid ? !has_actors() : can_run_actors(); };
  run_forked(static_cast<int>(tasks.size()), parallel, simulate_task, gather, interrupted, can_go_on, watch_tasks);
}

namespace {

/// bytes / time x 2 (R-1) / R, as nccl-tests has it, while all-reduces are under way; nothing where something else moves.
std::optional<Rate> bus_bandwidth(const Scenario& scenario, const Metrics& metrics) {
  const Traffic& traffic = scenario.schedule.traffic;
  const bool all_reduces = traffic.streams.size() == 1 && traffic.streams.front().operations == std::vector{Operation::all_reduce};
  const int ranks = traffic.ranks == RankKind::gpu ? scenario.cluster.workers() : scenario.cluster.nodes;
  if (!all_reduces || traffic.peers || traffic.servers || ranks == 1 || metrics.communication == Seconds(0)) return std::nullopt;
  return Rate(metrics.bytes_per_worker_per_iteration.value / metrics.communication.value * 2.0 * (ranks - 1) / ranks);
}

/// Of a rank that is one GPU, or of each GPU of one that is a node.
KeptState kept_state(const Scenario& scenario) {
  const Schedule& schedule = scenario.schedule;
  if (schedule.keeps) return *schedule.keeps;
  return {.optimizer = schedule.pace.servers_update ? 0.0 : 1.0};
}

std::vector<JobRow> job_rows(const Scenario& scenario, const std::vector<JobFigures>& figures) {
  std::vector<JobRow> rows;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const SharingJob& job = scenario.jobs->list[i];
    JobRow& row = rows.emplace_back(JobRow{figures[i]});
    row.name = job.name;
    row.model = job.scenario.trace->model;
    row.schedule = job.scenario.schedule.name;
    row.nodes = job.nodes;
    row.workers = job.scenario.cluster.workers();
    row.start = job.start;
  }
  return rows;
}

}  // namespace

Row make_row(const Point& point, const PointResult& result) {
  const Scenario& scenario = point.scenario;
  const PointFigures& figures = result;
  Row row = {figures};
  row.point = point.index;
  row.sweep = point.sweep;
  row.model = scenario.trace->model;
  row.cluster = scenario.cluster.name;
  row.schedule = scenario.schedule.name;
  row.all_reduces = scenario.schedule.traffic.has_collectives();
  row.all_reduce = row.all_reduces ? scenario.all_reduce.name : "";
  row.nodes = scenario.cluster.nodes;
  row.workers = scenario.cluster.workers();
  row.batch = scenario.trace->batch;
  if (scenario.samples) row.epoch = Seconds(*scenario.samples / row.metrics.throughput);
  if (row.epoch && scenario.epochs) row.total = *scenario.epochs * *row.epoch;
  constexpr Seconds hour(3600.0);
  if (scenario.run) row.total = result.goodput ? std::optional(result.goodput->total) : std::nullopt;
  if (row.total && scenario.cluster.price) row.cost = *scenario.cluster.price * scenario.paid_nodes() * (*row.total / hour);
  row.bus_bandwidth = bus_bandwidth(scenario, row.metrics);
  row.states = kept_state(scenario).bytes(profile_of(scenario).bytes(), value_size(*scenario.trace));
  row.jobs = job_rows(scenario, result.jobs);
  row.is_sample = scenario.is_sample() || result.iteration_half;
  if (result.iteration_half) {
    const Seconds half = *result.iteration_half * row.metrics.iteration;
    row.interval = {std::max(Seconds(0), row.metrics.iteration - half), row.metrics.iteration + half};
  }
  return row;
}

}  // namespace syncopate
