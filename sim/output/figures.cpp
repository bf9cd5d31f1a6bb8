#include "output/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <type_traits>

#include "base/errors.hpp"
#include "base/text.hpp"

namespace syncopate {

std::string_view to_string(Averaging averaging) {
  switch (averaging) {
    case Averaging::mean: return "mean";
    case Averaging::largest: return "largest";
    case Averaging::first: return "first";
    case Averaging::by_time: return "by mean iteration";
    case Averaging::none: return "";
  }
  return "?";
}

namespace {

template <class Value>
inline constexpr bool is_optional = false;
template <class Value>
inline constexpr bool is_optional<std::optional<Value>> = true;

template <class Value>
Json as_json(const Value& value) {
  if constexpr (is_optional<Value>) {
    return value ? as_json(*value) : Json();
  } else if constexpr (std::is_same_v<Value, Fidelity>) {
    return to_string(value);
  } else if constexpr (std::is_class_v<Value>) {  // a Quantity
    return value.value;
  } else {
    return value;
  }
}

Fidelity read_fidelity(const Json& json) {
  if (const auto fidelity = fidelity_of(json.get_ref<const std::string&>())) return *fidelity;
  throw InputError(fmt::format("no fidelity {}", json.dump()));
}

template <class Value>
Value read_as(const Json& json) {
  if constexpr (is_optional<Value>) {
    return json.is_null() ? Value() : Value(read_as<typename Value::value_type>(json));
  } else if constexpr (std::is_same_v<Value, Fidelity>) {
    return read_fidelity(json);
  } else if constexpr (std::is_class_v<Value>) {
    return Value(json.get<double>());
  } else {
    return json.get<Value>();
  }
}

/// The value of a member, or of a member of that member, and so on; null if an optional on the way is empty.
template <auto Member, auto... Further>
Json read_member(const auto& object) {
  const auto& value = object.*Member;
  if constexpr (sizeof...(Further) == 0) {
    return as_json(value);
  } else if constexpr (is_optional<std::decay_t<decltype(value)>>) {
    return value ? read_member<Further...>(*value) : Json();
  } else {
    return read_member<Further...>(value);
  }
}

/// The reverse; null leaves an empty optional on the way empty.
template <auto Member, auto... Further>
void write_member(auto& object, const Json& json) {
  auto& value = object.*Member;
  if constexpr (sizeof...(Further) == 0) {
    value = read_as<std::decay_t<decltype(value)>>(json);
  } else if constexpr (is_optional<std::decay_t<decltype(value)>>) {
    if (!value && json.is_null()) return;
    if (!value) value.emplace();
    write_member<Further...>(*value, json);
  } else {
    write_member<Further...>(value, json);
  }
}

template <auto... Members>
constexpr Access<PointFigures> place = {[](const PointFigures& result) { return read_member<Members...>(result); },
                                        [](PointFigures& result, const Json& json) { write_member<Members...>(result, json); }};

template <auto Member>
constexpr Access<JobFigures> job_place = {[](const JobFigures& result) { return read_member<Member>(result); },
                                          [](JobFigures& result, const Json& json) { write_member<Member>(result, json); }};

constexpr double seconds_per_hour = 3600.0;

/// An end of the 95% interval of `total_h`.
Json total_end(const Row& row, double sign) {
  if (!row.goodput || !row.goodput->total_half) return nullptr;
  return std::max(0.0, (row.goodput->total + sign * *row.goodput->total_half).value) / seconds_per_hour;
}

/// An end of the 95% interval of `effective_time_ratio`.
Json ratio_end(const Row& row, double sign) {
  if (!row.goodput || !row.goodput->ratio_half) return nullptr;
  return std::clamp(row.goodput->effective_time_ratio + sign * *row.goodput->ratio_half, 0.0, 1.0);
}

constexpr std::array columns = {
    Figure{"point", "", "number of the point, from 0; the last swept pointer varies fastest", "",
           [](const Row& row) -> Json { return row.point; }},
    Figure{"model", "", "name of the trace's model", "", [](const Row& row) -> Json { return row.model; }},
    Figure{"cluster", "", "name of the cluster", "", [](const Row& row) -> Json { return row.cluster; }},
    Figure{"schedule", "", "name of the schedule", "", [](const Row& row) -> Json { return row.schedule; }},
    Figure{"all_reduce", "", "name of the all-reduce algorithm", "for schedules without collectives",
           [](const Row& row) -> Json { return row.all_reduce; }},
    Figure{"fidelity", "", "how bytes moved: `alpha-beta`, `per-message`, `flow` or `simgrid`; with `auto`, the one that was chosen", "",
           Averaging::first, place<&PointFigures::fidelity>},
    Figure{"nodes", "", "nodes of the cluster; with several jobs, nodes of the first job", "",
           [](const Row& row) -> Json { return row.nodes; }},
    Figure{"workers", "", "nodes x GPUs per node; parameter servers do not count", "", [](const Row& row) -> Json { return row.workers; }},
    Figure{"batch", "samples", "samples per worker and gradient step", "", [](const Row& row) -> Json { return row.batch; }},
    Figure{"iteration_s", "s", "mean time of a gradient step; with replicates, the mean of their means", "", Averaging::mean,
           place<&PointFigures::metrics, &Metrics::iteration>},
    Figure{"iteration_low_s", "s", "lower end of the 95% interval of `iteration_s`",
           "if every cycle is like the last or too few iterations are measured",
           [](const Row& row) -> Json { return row.interval ? as_json(row.interval->start) : Json(); }},
    Figure{"iteration_high_s", "s", "upper end of that interval", "likewise",
           [](const Row& row) -> Json { return row.interval ? as_json(row.interval->end) : Json(); }},
    Figure{"iteration_fast_s", "s", "`iteration_s` over the faster of usual networks",
           "without kinds of links, and in runs of more than 12 points", Averaging::none, place<&PointFigures::iteration_fast>},
    Figure{"iteration_slow_s", "s", "over the slower of them", "likewise", Averaging::none, place<&PointFigures::iteration_slow>},
    Figure{"iteration_p50_s", "s", "median duration of the steps of all workers that began in the window", "", Averaging::mean,
           place<&PointFigures::metrics, &Metrics::iteration_p50>},
    Figure{"iteration_p95_s", "s", "95th percentile of these steps, interpolated linearly", "", Averaging::mean,
           place<&PointFigures::metrics, &Metrics::iteration_p95>},
    Figure{"compute_s", "s", "forward + backward + the worker's own update, undisturbed", "", Averaging::mean,
           place<&PointFigures::metrics, &Metrics::compute>},
    Figure{"wait_s", "s", "blocked while nothing moves (a rank has not posted yet), plus compute beyond `compute_s`; can be below 0", "",
           Averaging::mean, place<&PointFigures::metrics, &Metrics::wait>},
    Figure{"exposed_communication_s", "s",
           "blocked while bytes move or a server works; `compute_s` + `wait_s` + `exposed_communication_s` = `iteration_s`", "",
           Averaging::mean, place<&PointFigures::metrics, &Metrics::exposed_communication>},
    Figure{"communication_s", "s", "the worker's channels are busy, hidden or not", "", Averaging::mean,
           place<&PointFigures::metrics, &Metrics::communication>},
    Figure{"throughput_samples_per_s", "samples/s", "of all workers: workers x batch / `iteration_s`", "", Averaging::by_time,
           place<&PointFigures::metrics, &Metrics::throughput>},
    Figure{"speedup", "", "throughput / throughput of one worker that only computes", "", Averaging::by_time,
           place<&PointFigures::metrics, &Metrics::speedup>},
    Figure{"efficiency", "", "speedup / workers", "", Averaging::by_time, place<&PointFigures::metrics, &Metrics::efficiency>},
    Figure{"communications_per_iteration", "", "collectives, pushes, pulls and messages posted per gradient step", "", Averaging::mean,
           place<&PointFigures::metrics, &Metrics::communications_per_iteration>},
    Figure{"bytes_per_worker_per_iteration", "bytes",
           "payload of these communications; of an all-gather, the part that the worker contributes", "", Averaging::mean,
           place<&PointFigures::metrics, &Metrics::bytes_per_worker_per_iteration>},
    Figure{"sent_bytes_per_worker", "bytes", "what a rank of a ring sends per gradient step, whatever the algorithm; without pulls", "",
           Averaging::mean, place<&PointFigures::metrics, &Metrics::sent_bytes_per_worker>},
    Figure{"network_bytes_per_iteration", "bytes", "bytes of all messages between nodes", "in alpha-beta fidelity", Averaging::mean,
           place<&PointFigures::network_bytes>},
    Figure{"busiest_link_bytes_per_iteration", "bytes", "most bytes over one direction of a link between nodes", "in alpha-beta fidelity",
           Averaging::mean, place<&PointFigures::busiest_link_bytes>},
    Figure{"bus_bandwidth_Bps", "bytes/s", "bus bandwidth as in nccl-tests", "for schedules that send anything but all-reduces",
           [](const Row& row) -> Json { return as_json(row.bus_bandwidth); }},
    Figure{"memory_states_bytes", "bytes", "a rank's share of parameters, gradients and optimiser state, without activations", "",
           [](const Row& row) -> Json { return as_json(row.states); }},
    Figure{"memory_gathered_peak_bytes", "bytes", "most gathered parameters of a rank at a time in the whole run; 0 if none", "",
           Averaging::largest, place<&PointFigures::metrics, &Metrics::gathered_peak>},
    Figure{"staleness_mean", "steps", "mean age of others' gradients when an update applies them; 0 in synchronous schedules", "",
           Averaging::mean, place<&PointFigures::metrics, &Metrics::staleness_mean>},
    Figure{"staleness_max", "steps", "largest such age", "", Averaging::largest, place<&PointFigures::metrics, &Metrics::staleness_max>},
    Figure{"wasted_share", "", "share of the compute in the window whose gradients came too late for the model (`backup`); else 0", "",
           Averaging::mean, place<&PointFigures::metrics, &Metrics::wasted_share>},
    Figure{"epoch_s", "s", "the scenario's `samples` / throughput", "without `samples`",
           [](const Row& row) -> Json { return as_json(row.epoch); }},
    Figure{"total_h", "h", "the scenario's `epochs` x `epoch_s`, or the mean length of its `run`", "without both",
           [](const Row& row) -> Json { return row.total ? Json(row.total->value / seconds_per_hour) : Json(); }},
    Figure{"total_low_h", "h", "lower end of the 95% interval of `total_h` over the run's seeds",
           "without `run` or failures, or with one seed", [](const Row& row) -> Json { return total_end(row, -1.0); }},
    Figure{"total_high_h", "h", "upper end of that interval", "likewise", [](const Row& row) -> Json { return total_end(row, 1.0); }},
    Figure{"cost", "", "`total_h` x nodes x the cluster's price; servers' own nodes and spares count", "if a factor is missing",
           [](const Row& row) -> Json { return as_json(row.cost); }},
    Figure{"goodput", "samples/s", "the run's samples / its length; mean over seeds", "without `run`", Averaging::mean,
           place<&PointFigures::goodput, &Goodput::samples_per_s>},
    Figure{"effective_time_ratio", "", "share of the run's length that all nodes, undisturbed, would need; mean over seeds",
           "without `run`", Averaging::mean, place<&PointFigures::goodput, &Goodput::effective_time_ratio>},
    Figure{"effective_time_ratio_low", "", "lower end of the 95% interval of `effective_time_ratio`", "like `total_low_h`",
           [](const Row& row) -> Json { return ratio_end(row, -1.0); }},
    Figure{"effective_time_ratio_high", "", "upper end of that interval", "likewise",
           [](const Row& row) -> Json { return ratio_end(row, 1.0); }},
    Figure{"checkpoint_share", "", "share of the run in which training stands still for a checkpoint", "without `run`", Averaging::mean,
           place<&PointFigures::goodput, &Goodput::checkpoint_share>},
    Figure{"lost_share", "", "share of the run spent on training that a failure undid", "without `run`", Averaging::mean,
           place<&PointFigures::goodput, &Goodput::lost_share>},
    Figure{"detection_share", "", "share of the run in which a failure is not noticed yet", "without `run`", Averaging::mean,
           place<&PointFigures::goodput, &Goodput::detection_share>},
    Figure{"restart_share", "", "share of the run in which the job restarts, loads a checkpoint or waits for nodes", "without `run`",
           Averaging::mean, place<&PointFigures::goodput, &Goodput::restart_share>},
    Figure{"degraded_share", "", "extra time of fewer nodes over all nodes, as a share of the run; below 0 if fewer are faster",
           "without `run`", Averaging::mean, place<&PointFigures::goodput, &Goodput::degraded_share>},
    Figure{"checkpoint_every_s", "s", "training time between two checkpoints", "without `run` or if none are written", Averaging::mean,
           place<&PointFigures::goodput, &Goodput::checkpoint_every>},
    Figure{"failures", "", "failures that interrupted the run; mean over seeds", "without `run`", Averaging::mean,
           place<&PointFigures::goodput, &Goodput::failures>},
    Figure{"iteration_alone_s", "s", "the first job's `iteration_s` without the others", "with one job",
           [](const Row& row) -> Json { return row.jobs.empty() ? Json() : as_json(row.jobs.front().alone); }},
    Figure{"slowdown", "", "`iteration_s` / `iteration_alone_s`", "with one job",
           [](const Row& row) -> Json { return row.jobs.empty() ? Json() : Json(row.jobs.front().slowdown()); }},
    Figure{"slowdown_max", "", "largest slowdown of all jobs", "with one job",
           [](const Row& row) -> Json { return row.jobs.empty() ? Json() : Json(row.largest_slowdown()); }},
    Figure{"jain", "", "Jain's fairness index of the jobs; 1 if all are slowed down alike", "with one job",
           [](const Row& row) -> Json { return row.jobs.empty() ? Json() : Json(row.jain()); }},
    Figure{"measured_iterations", "steps", "steps (lasgd: rounds) of the first worker in the window, in whole cycles of the schedule", "",
           Averaging::largest, place<&PointFigures::measured_iterations>},
    Figure{"replicates", "", "simulations with different seeds whose mean the row is; 1 if nothing is random", "",
           [](const Row& row) -> Json { return std::max<std::size_t>(1, row.replicates.size()); }},
    Figure{"workers_simulated", "",
           "1 if one worker stood for all equal ones (not with `--no-symmetry`), which changes results by rounding, and of contending "
           "flows by up to 2e-4; servers over regions may amplify rounding",
           "", Averaging::first, place<&PointFigures::workers_simulated>},
};

/// Figures from which columns follow; no columns.
constexpr std::array further_figures = {
    Figure{"iteration_half", "", "half of the 95% interval of `iteration_s`, as a share of it", "like `iteration_low_s`", Averaging::none,
           place<&PointFigures::iteration_half>},
    Figure{"total_s", "s", "length of the run; mean over seeds", "without `run`", Averaging::mean,
           place<&PointFigures::goodput, &Goodput::total>},
    Figure{"total_half_s", "s", "half of the 95% interval of `total_s`", "like `total_low_h`", Averaging::mean,
           place<&PointFigures::goodput, &Goodput::total_half>},
    Figure{"effective_time_ratio_half", "", "half of the 95% interval of `effective_time_ratio`", "like `total_low_h`", Averaging::mean,
           place<&PointFigures::goodput, &Goodput::ratio_half>},
};

constexpr std::array job_columns = {
    JobFigure{"name", "", "name of the job", "", [](const JobRow& job) -> Json { return job.name; }},
    JobFigure{"model", "", "name of the trace's model", "", [](const JobRow& job) -> Json { return job.model; }},
    JobFigure{"schedule", "", "name of the schedule", "", [](const JobRow& job) -> Json { return job.schedule; }},
    JobFigure{"nodes", "", "numbers of the nodes", "", [](const JobRow& job) -> Json { return format_ranges(job.nodes); }},
    JobFigure{"workers", "", "nodes x GPUs per node", "", [](const JobRow& job) -> Json { return job.workers; }},
    JobFigure{"start_s", "s", "when the job starts", "", [](const JobRow& job) -> Json { return as_json(job.start); }},
    JobFigure{"iteration_s", "s", "mean time of a gradient step beside the others", "", Averaging::mean, job_place<&JobFigures::iteration>},
    JobFigure{"iteration_half", "", "half of its 95% interval, as a share of it", "where its cycles are alike", Averaging::none,
              job_place<&JobFigures::iteration_half>},
    JobFigure{"iteration_alone_s", "s", "the same without the others", "", Averaging::mean, job_place<&JobFigures::alone>},
    JobFigure{"slowdown", "", "`iteration_s` / `iteration_alone_s`", "", [](const JobRow& job) -> Json { return job.slowdown(); }},
    JobFigure{"exposed_communication_s", "s", "blocked while bytes move or a server works", "", Averaging::mean,
              job_place<&JobFigures::exposed_communication>},
    JobFigure{"throughput_samples_per_s", "samples/s", "of all workers: workers x batch / `iteration_s`", "", Averaging::by_time,
              job_place<&JobFigures::throughput>},
};

Seconds iteration_of(const PointFigures& result) { return result.metrics.iteration; }
Seconds iteration_of(const JobFigures& result) { return result.iteration; }

/// Calls `visit` with each simulated figure.
void for_each_simulated(const PointFigures& /*of*/, const auto& visit) {
  for (const Figure& figure : columns) {
    if (figure.is_simulated()) visit(figure);
  }
  for (const Figure& figure : further_figures) visit(figure);
}

void for_each_simulated(const JobFigures& /*of*/, const auto& visit) {
  for (const JobFigure& figure : job_columns) {
    if (figure.is_simulated()) visit(figure);
  }
}

template <class Result>
Json all_as_json(const Result& result) {
  Json json = Json::object();
  for_each_simulated(result, [&](const auto& figure) { json[std::string(figure.name)] = figure.place.read(result); });
  return json;
}

template <class Result>
Result read_all(const Json& json) {
  Result result;
  for_each_simulated(result, [&](const auto& figure) { figure.place.write(result, json.at(std::string(figure.name))); });
  return result;
}

template <class Result>
Json mean_figure(const Access<Result>& where, const std::vector<Result>& replicates) {
  std::optional<double> sum;
  for (const Result& replicate : replicates) {
    const Json value = where.read(replicate);
    if (value.is_null()) return nullptr;
    const auto number = value.template get<double>();
    sum = sum ? *sum + number : number;  // not from 0 on: the mean of -0 is -0
  }
  return *sum / static_cast<double>(replicates.size());
}

template <class Result>
Json largest_figure(const Access<Result>& where, const std::vector<Result>& replicates) {
  Json largest = where.read(replicates.front());
  for (const Result& replicate : replicates) largest = std::max(largest, where.read(replicate));
  return largest;
}

template <class Result>
Result average(const std::vector<Result>& replicates) {
  const Result& first = replicates.front();
  Result mean = first;
  for_each_simulated(first, [&](const auto& figure) {
    const Access<Result>& where = figure.place;
    switch (figure.averaging) {
      case Averaging::mean: return where.write(mean, mean_figure(where, replicates));
      case Averaging::largest: return where.write(mean, largest_figure(where, replicates));
      case Averaging::by_time: {  // `iteration_s` comes before in the tables
        const double speed = iteration_of(first) / iteration_of(mean);
        return where.write(mean, speed * where.read(first).template get<double>());
      }
      case Averaging::first:
      case Averaging::none: return;
    }
  });
  return mean;
}

void require_finite_number(std::string_view name, const Json& value) {
  if (!value.is_number() || std::isfinite(value.get<double>())) return;
  throw SimulationError(
      fmt::format("{} comes out as {}, which is no result; a time is too close to 0, or too long, for a number to hold what follows from "
                  "it",
                  name, value.get<double>()));
}

}  // namespace

std::span<const Figure> figures() { return columns; }
std::span<const JobFigure> job_figures() { return job_columns; }

Json to_json(const PointFigures& result) {
  Json json = all_as_json(result);
  Json& replicates = json["replicates_iteration_s"] = Json::array();
  for (const Seconds iteration : result.replicates) replicates.push_back(iteration.value);
  json["details"] = result.details;
  return json;
}

Json to_json(const JobFigures& result) { return all_as_json(result); }

PointFigures read_point_figures(const Json& json) {
  auto result = read_all<PointFigures>(json);
  for (const Json& seconds : json.at("replicates_iteration_s")) result.replicates.emplace_back(seconds.get<double>());
  result.details = json.at("details");
  return result;
}

JobFigures read_job_figures(const Json& json) { return read_all<JobFigures>(json); }

PointFigures mean_of(const std::vector<PointFigures>& replicates) { return average(replicates); }
JobFigures mean_of(const std::vector<JobFigures>& replicates) { return average(replicates); }

void require_finite(const PointFigures& result) {
  for_each_simulated(result, [&](const Figure& figure) { require_finite_number(figure.name, figure.place.read(result)); });
}

void require_finite(const JobFigures& result) {
  for_each_simulated(result, [&](const JobFigure& figure) { require_finite_number(figure.name, figure.place.read(result)); });
}

}  // namespace syncopate
