#include "output/row.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "metrics/fairness.hpp"

namespace syncopate {

namespace {

template <class Quantity>
Json known(const std::optional<Quantity>& value, double unit = 1.0) {
  return value ? Json(value->value / unit) : Json();
}

Json of_run(const Row& row, double Goodput::*figure) { return row.goodput ? Json(row.goodput.value().*figure) : Json(); }

/// An end of its 95% interval.
Json total_end(const Row& row, double sign) {
  if (!row.goodput || !row.goodput->total_half) return nullptr;
  return std::max(0.0, (row.goodput->total + sign * *row.goodput->total_half).value) / 3600.0;
}

Json ratio_end(const Row& row, double sign) {
  if (!row.goodput || !row.goodput->ratio_half) return nullptr;
  return std::clamp(row.goodput->effective_time_ratio + sign * *row.goodput->ratio_half, 0.0, 1.0);
}

constexpr std::array table = {
    Column{"point", [](const Row& row) -> Json { return row.point; }},
    Column{"model", [](const Row& row) -> Json { return row.model; }},
    Column{"cluster", [](const Row& row) -> Json { return row.cluster; }},
    Column{"schedule", [](const Row& row) -> Json { return row.schedule; }},
    Column{"all_reduce", [](const Row& row) -> Json { return row.all_reduce; }},
    Column{"fidelity", [](const Row& row) -> Json { return row.fidelity; }},
    Column{"nodes", [](const Row& row) -> Json { return row.nodes; }},
    Column{"workers", [](const Row& row) -> Json { return row.workers; }},
    Column{"batch", [](const Row& row) -> Json { return row.batch; }},
    Column{"iteration_s", [](const Row& row) -> Json { return row.metrics.iteration.value; }},
    Column{"iteration_low_s", [](const Row& row) -> Json { return row.interval ? Json(row.interval->start.value) : Json(); }},
    Column{"iteration_high_s", [](const Row& row) -> Json { return row.interval ? Json(row.interval->end.value) : Json(); }},
    Column{"iteration_p50_s", [](const Row& row) -> Json { return row.metrics.iteration_p50.value; }},
    Column{"iteration_p95_s", [](const Row& row) -> Json { return row.metrics.iteration_p95.value; }},
    Column{"compute_s", [](const Row& row) -> Json { return row.metrics.compute.value; }},
    Column{"wait_s", [](const Row& row) -> Json { return row.metrics.wait.value; }},
    Column{"exposed_communication_s", [](const Row& row) -> Json { return row.metrics.exposed_communication.value; }},
    Column{"communication_s", [](const Row& row) -> Json { return row.metrics.communication.value; }},
    Column{"throughput_samples_per_s", [](const Row& row) -> Json { return row.metrics.throughput; }},
    Column{"speedup", [](const Row& row) -> Json { return row.metrics.speedup; }},
    Column{"efficiency", [](const Row& row) -> Json { return row.metrics.efficiency; }},
    Column{"communications_per_iteration", [](const Row& row) -> Json { return row.metrics.communications_per_iteration; }},
    Column{"bytes_per_worker_per_iteration", [](const Row& row) -> Json { return row.metrics.bytes_per_worker_per_iteration.value; }},
    Column{"sent_bytes_per_worker", [](const Row& row) -> Json { return row.metrics.sent_bytes_per_worker.value; }},
    Column{"network_bytes_per_iteration", [](const Row& row) { return known(row.network_bytes); }},
    Column{"busiest_link_bytes_per_iteration", [](const Row& row) { return known(row.busiest_link_bytes); }},
    Column{"bus_bandwidth_Bps", [](const Row& row) { return known(row.bus_bandwidth); }},
    Column{"memory_states_bytes", [](const Row& row) -> Json { return row.states.value; }},
    Column{"memory_gathered_peak_bytes", [](const Row& row) -> Json { return row.metrics.held_bytes_at_most.value; }},
    Column{"staleness_mean", [](const Row& row) -> Json { return row.metrics.staleness_mean; }},
    Column{"staleness_max", [](const Row& row) -> Json { return row.metrics.staleness_max; }},
    Column{"wasted_share", [](const Row& row) -> Json { return row.metrics.wasted_share; }},
    Column{"epoch_s", [](const Row& row) { return known(row.epoch); }},
    Column{"total_h", [](const Row& row) { return known(row.total, 3600.0); }},
    Column{"total_low_h", [](const Row& row) { return total_end(row, -1.0); }},
    Column{"total_high_h", [](const Row& row) { return total_end(row, 1.0); }},
    Column{"cost", [](const Row& row) { return row.cost ? Json(*row.cost) : Json(); }},
    Column{"goodput", [](const Row& row) { return of_run(row, &Goodput::samples_per_s); }},
    Column{"effective_time_ratio", [](const Row& row) { return of_run(row, &Goodput::effective_time_ratio); }},
    Column{"effective_time_ratio_low", [](const Row& row) { return ratio_end(row, -1.0); }},
    Column{"effective_time_ratio_high", [](const Row& row) { return ratio_end(row, 1.0); }},
    Column{"checkpoint_share", [](const Row& row) { return of_run(row, &Goodput::checkpoint_share); }},
    Column{"lost_share", [](const Row& row) { return of_run(row, &Goodput::lost_share); }},
    Column{"detection_share", [](const Row& row) { return of_run(row, &Goodput::detection_share); }},
    Column{"restart_share", [](const Row& row) { return of_run(row, &Goodput::restart_share); }},
    Column{"degraded_share", [](const Row& row) { return of_run(row, &Goodput::degraded_share); }},
    Column{"checkpoint_every_s", [](const Row& row) { return row.goodput ? known(row.goodput->checkpoint_every) : Json(); }},
    Column{"failures", [](const Row& row) { return of_run(row, &Goodput::failures); }},
    Column{"iteration_alone_s", [](const Row& row) -> Json { return row.jobs.empty() ? Json() : Json(row.jobs.front().alone.value); }},
    Column{"slowdown", [](const Row& row) -> Json { return row.jobs.empty() ? Json() : Json(row.jobs.front().slowdown()); }},
    Column{"slowdown_max", [](const Row& row) -> Json { return row.jobs.empty() ? Json() : Json(row.largest_slowdown()); }},
    Column{"jain", [](const Row& row) -> Json { return row.jobs.empty() ? Json() : Json(row.jain()); }},
    Column{"measured_iterations", [](const Row& row) -> Json { return row.measured_iterations; }},
    Column{"replicates", [](const Row& row) -> Json { return std::max<std::size_t>(1, row.replicates.size()); }},
    Column{"workers_simulated", [](const Row& row) -> Json { return row.workers_simulated; }},
};

Json to_json(const JobRow& job) {
  return {{"name", job.name},
          {"model", job.model},
          {"schedule", job.schedule},
          {"nodes", format_ranges(job.nodes)},
          {"workers", job.workers},
          {"start_s", job.start.value},
          {"iteration_s", job.iteration.value},
          {"iteration_alone_s", job.alone.value},
          {"slowdown", job.slowdown()},
          {"exposed_communication_s", job.exposed_communication.value},
          {"throughput_samples_per_s", job.throughput}};
}

}  // namespace

std::span<const Column> columns() { return table; }

double Row::largest_slowdown() const {
  double largest = 0.0;
  for (const JobRow& job : jobs) largest = std::max(largest, job.slowdown());
  return largest;
}

double Row::jain() const {
  std::vector<double> shares;
  for (const JobRow& job : jobs) shares.push_back(1.0 / job.slowdown());
  return jain_index(shares);
}

Json to_json(const Row& row) {
  Json json = Json::object();
  for (const Column& column : table) {
    json[std::string(column.name)] = column.value(row);
    if (column.name != "point") continue;
    Json& sweep = json["sweep"] = Json::object();
    for (const auto& [pointer, value] : row.sweep) sweep[pointer] = value;
  }
  for (const Seconds iteration : row.replicates) json["replicates_iteration_s"].push_back(iteration.value);
  if (row.is_one_draw()) json["one_draw"] = true;
  for (const JobRow& job : row.jobs) json["jobs"].push_back(to_json(job));
  json.update(row.details);
  return json;
}

}  // namespace syncopate
