#include "run/point_result.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <string_view>
#include <type_traits>

#include "base/errors.hpp"

namespace syncopate {

namespace {

struct Head {
  Metrics metrics;
  std::optional<Bytes> network_bytes;
  std::optional<Bytes> busiest_link_bytes;
  Fidelity fidelity = Fidelity::alpha_beta;
  int workers_simulated = 0;
  int measured = 0;
  std::optional<double> half_width;
  std::optional<Goodput> goodput;
  std::size_t replicates = 0;
  std::size_t jobs = 0;
  std::size_t details_size = 0;
  std::size_t timeline_size = 0;
  bool is_kept = false;
};
static_assert(std::is_trivially_copyable_v<Head>);

/// The figures of Metrics, by their columns' names.
struct Figure {
  std::string_view name;
  double& (*of)(Metrics& metrics);
};
constexpr std::array figures = {
    Figure{"iteration_s", [](Metrics& its) -> double& { return its.iteration.value; }},
    Figure{"iteration_p50_s", [](Metrics& its) -> double& { return its.iteration_p50.value; }},
    Figure{"iteration_p95_s", [](Metrics& its) -> double& { return its.iteration_p95.value; }},
    Figure{"compute_s", [](Metrics& its) -> double& { return its.compute.value; }},
    Figure{"wait_s", [](Metrics& its) -> double& { return its.wait.value; }},
    Figure{"exposed_communication_s", [](Metrics& its) -> double& { return its.exposed_communication.value; }},
    Figure{"communication_s", [](Metrics& its) -> double& { return its.communication.value; }},
    Figure{"throughput_samples_per_s", [](Metrics& its) -> double& { return its.throughput; }},
    Figure{"speedup", [](Metrics& its) -> double& { return its.speedup; }},
    Figure{"efficiency", [](Metrics& its) -> double& { return its.efficiency; }},
    Figure{"communications_per_iteration", [](Metrics& its) -> double& { return its.communications_per_iteration; }},
    Figure{"bytes_per_worker_per_iteration", [](Metrics& its) -> double& { return its.bytes_per_worker_per_iteration.value; }},
    Figure{"sent_bytes_per_worker", [](Metrics& its) -> double& { return its.sent_bytes_per_worker.value; }},
    Figure{"memory_gathered_peak_bytes", [](Metrics& its) -> double& { return its.held_bytes_at_most.value; }},
    Figure{"staleness_mean", [](Metrics& its) -> double& { return its.staleness_mean; }},
    Figure{"staleness_max", [](Metrics& its) -> double& { return its.staleness_max; }},
    Figure{"wasted_share", [](Metrics& its) -> double& { return its.wasted_share; }},
};
static_assert(sizeof(Metrics) == figures.size() * sizeof(double));

/// Those of Goodput, likewise.
struct GoodputFigure {
  std::string_view name;
  double& (*of)(Goodput& goodput);
};
constexpr std::array goodput_figures = {
    GoodputFigure{"goodput", [](Goodput& its) -> double& { return its.samples_per_s; }},
    GoodputFigure{"total_s", [](Goodput& its) -> double& { return its.total.value; }},
    GoodputFigure{"effective_time_ratio", [](Goodput& its) -> double& { return its.effective_time_ratio; }},
    GoodputFigure{"checkpoint_share", [](Goodput& its) -> double& { return its.checkpoint_share; }},
    GoodputFigure{"lost_share", [](Goodput& its) -> double& { return its.lost_share; }},
    GoodputFigure{"detection_share", [](Goodput& its) -> double& { return its.detection_share; }},
    GoodputFigure{"restart_share", [](Goodput& its) -> double& { return its.restart_share; }},
    GoodputFigure{"degraded_share", [](Goodput& its) -> double& { return its.degraded_share; }},
    GoodputFigure{"failures", [](Goodput& its) -> double& { return its.failures; }},
};

struct JobFigure {
  std::string_view name;
  double& (*of)(JobFigures& job);
};
constexpr std::array job_figures = {
    JobFigure{"iteration_s", [](JobFigures& its) -> double& { return its.iteration.value; }},
    JobFigure{"iteration_alone_s", [](JobFigures& its) -> double& { return its.alone.value; }},
    JobFigure{"exposed_communication_s", [](JobFigures& its) -> double& { return its.exposed_communication.value; }},
    JobFigure{"throughput_samples_per_s", [](JobFigures& its) -> double& { return its.throughput; }},
};
static_assert(sizeof(JobFigures) == job_figures.size() * sizeof(double));

constexpr std::array fidelities = {Fidelity::alpha_beta, Fidelity::per_message, Fidelity::flow};

std::string text_of(double number) { return fmt::format("{:#}", number); }  // with a point: "-0" would lose its sign

std::string text_of(const std::optional<double>& number) { return number ? text_of(*number) : "null"; }

std::string text_of(const std::optional<Seconds>& time) { return time ? text_of(time->value) : "null"; }

std::string text_of(const std::optional<Goodput>& goodput) {
  if (!goodput) return "null";
  std::string text;
  Goodput its = *goodput;
  for (const GoodputFigure& figure : goodput_figures) text += fmt::format("\"{}\":{},", figure.name, text_of(figure.of(its)));
  return fmt::format(R"({{{}"checkpoint_every_s":{},"total_half_s":{},"ratio_half":{}}})", text, text_of(its.checkpoint_every),
                     text_of(its.total_half), text_of(its.ratio_half));
}

std::string text_of(const std::vector<JobFigures>& jobs) {
  std::string text;
  for (JobFigures its : jobs) {
    std::string figures_text;
    for (const JobFigure& figure : job_figures) {
      figures_text += fmt::format("{}\"{}\":{}", figures_text.empty() ? "" : ",", figure.name, text_of(figure.of(its)));
    }
    text += fmt::format("{}{{{}}}", text.empty() ? "" : ",", figures_text);
  }
  return fmt::format("[{}]", text);
}

std::string text_of(const std::optional<Bytes>& bytes) { return bytes ? text_of(bytes->value) : "null"; }

std::optional<Bytes> read_bytes(const Json& json) { return json.is_null() ? std::nullopt : std::optional(Bytes(json.get<double>())); }

std::optional<double> read_number(const Json& json) { return json.is_null() ? std::nullopt : std::optional(json.get<double>()); }

std::optional<Seconds> read_seconds(const Json& json) { return json.is_null() ? std::nullopt : std::optional(Seconds(json.get<double>())); }

std::optional<Goodput> read_goodput(const Json& json) {
  if (json.is_null()) return std::nullopt;
  Goodput goodput;
  for (const GoodputFigure& figure : goodput_figures) figure.of(goodput) = json.at(figure.name).get<double>();
  goodput.checkpoint_every = read_seconds(json.at("checkpoint_every_s"));
  goodput.total_half = read_seconds(json.at("total_half_s"));
  goodput.ratio_half = read_number(json.at("ratio_half"));
  return goodput;
}

std::vector<JobFigures> read_jobs(const Json& json) {
  std::vector<JobFigures> jobs(json.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    for (const JobFigure& figure : job_figures) figure.of(jobs[i]) = json.at(i).at(figure.name).get<double>();
  }
  return jobs;
}

/// As bytes, and back.
template <class Value>
std::string bytes_of(const std::vector<Value>& values) {
  std::string bytes(values.size() * sizeof(Value), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class Value>
std::vector<Value> values_of(std::string_view bytes) {
  std::vector<Value> values(bytes.size() / sizeof(Value));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

Fidelity read_fidelity(const Json& json) {
  for (const Fidelity fidelity : fidelities) {
    if (json.get_ref<const std::string&>() == to_string(fidelity)) return fidelity;
  }
  throw InputError(fmt::format("no fidelity {}", json.dump()));
}

}  // namespace

void PointResult::require_finite() const {
  const auto require = [](std::string_view name, double value) {
    if (std::isfinite(value)) return;
    throw SimulationError(
        fmt::format("{} comes out as {}, which is no result; a time is too close to 0, or too long, for a number to hold "
                    "what follows from it",
                    name, value));
  };
  Metrics its = metrics;
  for (const Figure& figure : figures) require(figure.name, figure.of(its));
  require("network_bytes_per_iteration", network_bytes.value_or(Bytes(0)).value);
  require("busiest_link_bytes_per_iteration", busiest_link_bytes.value_or(Bytes(0)).value);
  for (JobFigures job : jobs) {
    for (const JobFigure& figure : job_figures) require(figure.name, figure.of(job));
  }
}

std::string PointResult::pack() const {
  const std::string text = details.dump();
  const Head head = {metrics, network_bytes,     busiest_link_bytes, fidelity,    workers_simulated, measured, half_width,
                     goodput, replicates.size(), jobs.size(),        text.size(), timeline.size(),   is_kept};
  std::string bytes(sizeof head, '\0');
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes + bytes_of(replicates) + bytes_of(jobs) + text + timeline + dataflow;
}

PointResult PointResult::unpack(const std::string& bytes) {
  Head head;
  if (bytes.size() >= sizeof head) std::memcpy(&head, bytes.data(), sizeof head);
  const std::size_t jobs_begin = sizeof head + head.replicates * sizeof(double);
  const std::size_t details_begin = jobs_begin + head.jobs * sizeof(JobFigures);
  const std::size_t timeline_begin = details_begin + head.details_size;
  const std::size_t dataflow_begin = timeline_begin + head.timeline_size;
  if (bytes.size() < dataflow_begin) throw SimulationError("its process sent an incomplete result");
  const std::string_view all = bytes;
  const Json details = Json::parse(bytes.substr(details_begin, head.details_size));
  return {head.metrics,
          head.network_bytes,
          head.busiest_link_bytes,
          head.fidelity,
          head.workers_simulated,
          head.measured,
          values_of<double>(all.substr(sizeof head, jobs_begin - sizeof head)),
          head.half_width,
          head.goodput,
          values_of<JobFigures>(all.substr(jobs_begin, details_begin - jobs_begin)),
          details,
          bytes.substr(timeline_begin, head.timeline_size),
          bytes.substr(dataflow_begin),
          head.is_kept};
}

std::string PointResult::to_text() const {
  std::string text = "{";
  const auto out = std::back_inserter(text);
  Metrics its = metrics;
  for (const Figure& figure : figures) fmt::format_to(out, "\"{}\":{},", figure.name, text_of(figure.of(its)));
  fmt::format_to(out, "\"network_bytes_per_iteration\":{},\"busiest_link_bytes_per_iteration\":{},", text_of(network_bytes),
                 text_of(busiest_link_bytes));
  fmt::format_to(out, "\"fidelity\":\"{}\",\"workers_simulated\":{},\"measured_iterations\":{},", to_string(fidelity), workers_simulated,
                 measured);
  fmt::format_to(out, "\"replicates\":[{:#}],\"half_width\":{},\"goodput\":{},\"jobs\":{},\"details\":{}}}", fmt::join(replicates, ","),
                 text_of(half_width), text_of(goodput), text_of(jobs), details.dump(-1, ' ', false, Json::error_handler_t::replace));
  return text;
}

PointResult PointResult::from_json(const Json& json) {
  PointResult result;
  for (const Figure& figure : figures) figure.of(result.metrics) = json.at(figure.name).get<double>();
  result.network_bytes = read_bytes(json.at("network_bytes_per_iteration"));
  result.busiest_link_bytes = read_bytes(json.at("busiest_link_bytes_per_iteration"));
  result.fidelity = read_fidelity(json.at("fidelity"));
  result.workers_simulated = json.at("workers_simulated").get<int>();
  result.measured = json.at("measured_iterations").get<int>();
  result.replicates = json.at("replicates").get<std::vector<double>>();
  result.half_width = read_number(json.at("half_width"));
  result.goodput = read_goodput(json.at("goodput"));
  result.jobs = read_jobs(json.at("jobs"));
  result.details = json.at("details");
  return result;
}

}  // namespace syncopate
