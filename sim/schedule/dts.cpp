#include <fmt/format.h>

#include <array>
#include <deque>
#include <numeric>

#include "base/choice.hpp"
#include "schedule/posts.hpp"
#include "schedule/readers.hpp"

namespace syncopate {

namespace {

struct Parameters {
  int delay = 0;
  int period = 1;
  double compression = 1.0;
  double index_bytes = 4.0;
  Operation sparse = Operation::all_gather;
  Seconds overhead;
};

SharedPayload compressed_model(const Parameters& parameters, const ScheduleInput& input) {
  SharedPayload model = whole_model(input.profile);
  if (parameters.compression == 1.0) return model;
  auto kept = std::make_shared<Payload>(*model);
  kept->label = fmt::format("{:.3g}% of {}", 100.0 * parameters.compression, model->label);
  kept->bytes = parameters.compression * (1.0 + parameters.index_bytes / input.value.value) * model->bytes;
  return kept;
}

/// L. Zhu et al., "Distributed training across the world" (DTS: delayed and temporally sparse update), Sec. 3: every P-th step
/// launches a collective of its gradients, whose result is applied D steps later.
Program dts(const Parameters& parameters, const ScheduleInput& input) {
  struct Launched {
    int step;
    Handle handle;
  };
  const Operation operation = parameters.compression < 1.0 ? parameters.sparse : Operation::all_reduce;
  return [p = parameters, model = compressed_model(parameters, input), operation](Worker& worker) {
    std::deque<Launched> in_flight;
    const auto launch = [&] { in_flight.push_back({worker.step(), worker.post(model, worker.step(), 0.0, operation)}); };
    while (worker.next_step()) {
      worker.forward();
      worker.backward();
      const bool launches = worker.step() % p.period == p.period - 1;
      if (launches) worker.spend(p.overhead);
      if (launches && p.delay == 0) launch();
      if (!in_flight.empty() && in_flight.front().step == worker.step() - p.delay) {
        worker.wait(in_flight.front().handle);
        worker.apply(in_flight.front().step);
        in_flight.pop_front();
      }
      if (launches && p.delay > 0) launch();
      worker.update();
    }
  };
}

struct SparseRow {
  std::string_view name;
  Operation value;
};
constexpr std::array sparse_rows = {SparseRow{"all-gather", Operation::all_gather}, SparseRow{"all-reduce", Operation::all_reduce}};

struct InFlightRow {
  std::string_view name;
  bool pipelined;
};
constexpr std::array in_flight_rows = {InFlightRow{"pipelined", true}, InFlightRow{"serial", false}};

}  // namespace

Schedule read_dts(Object& fields, const Cluster& cluster) {
  Parameters parameters;
  Schedule schedule;
  schedule.waits_for_all = true;
  parameters.delay = static_cast<int>(fields.at("delay").integer(0, most_steps_between));
  schedule.waits_later = parameters.delay > 0;
  if (const auto period = fields.find("period")) parameters.period = read_steps(*period);
  if (const auto compression = fields.find("compression")) parameters.compression = compression->positive(1.0);
  constexpr double widest_index = 1024.0;
  if (const auto index = fields.find("index_bytes")) parameters.index_bytes = index->number(0.0, widest_index);
  if (const auto sparse = fields.find("sparse")) parameters.sparse = choose<SparseRow>(*sparse, sparse_rows).value;
  if (const auto overhead = fields.find("overhead_s")) parameters.overhead = overhead->seconds();
  const auto in_flight = fields.find("in_flight");
  schedule.stream.pipelined = in_flight ? choose<InFlightRow>(*in_flight, in_flight_rows).pipelined : true;
  if (parameters.compression < 1.0 && parameters.sparse == Operation::all_gather && !implies_link(cluster)) {
    fields.at("compression")
        .fail_because(
            "the cluster's fit is faster than reduce_s_per_B allows, so that no time is left for an all-gather; lower reduce_s_per_B or "
            "use "
            "\"sparse\": \"all-reduce\"");
  }
  schedule.gathers = parameters.compression < 1.0 && parameters.sparse == Operation::all_gather;
  schedule.cycle = std::lcm(parameters.period, std::max(parameters.delay, 1));
  schedule.make = [parameters](const ScheduleInput& input) { return dts(parameters, input); };
  return schedule;
}

}  // namespace syncopate
