#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <numeric>

#include "schedule/posts.hpp"
#include "schedule/schedule.hpp"

namespace syncopate {

namespace {

/// Every P-th step launches a collective of its gradients, whose result is applied D steps later.
struct Dts {
  int delay = 0;
  int period = 1;
  double compression = 1.0;
  double index_bytes = 4.0;
  Operation sparse = Operation::all_gather;
  Seconds overhead;
  int channels = unlimited;

  void declare(Parameters& parameters) {
    parameters.required("delay", delay, {0, step_range.high}, "D: steps from a launch until its result is applied");
    parameters.optional("period", period, step_range, "P: steps from launch to launch");
    parameters.optional("compression", compression, {0.0, 1.0, true}, "C: share of the values that are sent");
    parameters.optional("index_bytes", index_bytes, {0.0, 1024.0}, "bytes that say which value it is, for each sent");
    parameters.optional("sparse", sparse, {{"all-gather", Operation::all_gather}, {"all-reduce", Operation::all_reduce}},
                        "the operation on compressed gradients");
    parameters.optional("overhead_s", overhead, "time of compressing, before each launch");
    parameters.optional("in_flight", channels, {{"pipelined", unlimited}, {"serial", 1}}, "collectives in flight share latencies, or wait");
  }

  Operation operation() const { return compression < 1.0 ? sparse : Operation::all_reduce; }

  void check(Object& fields, const Cluster& cluster) const {
    if (operation() != Operation::all_gather || implies_link(cluster)) return;
    fields.at("compression")
        .fail_because(
            "the cluster's fit is faster than reduce_s_per_B allows, so that no time is left for an all-gather; lower reduce_s_per_B or "
            "use \"sparse\": \"all-reduce\"");
  }

  Traffic traffic() const { return {.streams = {{.operations = {operation()}, .rules = {.channels = channels}}}}; }
  Pace pace() const { return {.cycle = std::lcm(period, std::max(delay, 1)), .waits_for_all = true, .waits_later = delay > 0}; }

  SharedPayload payload(const ScheduleInput& input) const {
    SharedPayload model = whole_model(input.profile);
    if (compression == 1.0) return model;
    auto kept = std::make_shared<Payload>(*model);
    kept->label = fmt::format("{:.3g}% of {}", 100.0 * compression, model->label);
    kept->bytes = compression * (1.0 + index_bytes / input.value.value) * model->bytes;
    if (operation() == Operation::all_gather) kept->bytes = input.ranks * kept->bytes;
    return kept;
  }

  Program program(const ScheduleInput& input) const {
    struct Launched {
      int step;
      Handle handle;
    };
    return [p = *this, model = payload(input)](Worker& worker) {
      std::deque<Launched> in_flight;
      const auto launch = [&] { in_flight.push_back({worker.step(), worker.post(model, worker.step(), {.operation = p.operation()})}); };
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
};

}  // namespace

ScheduleRow dts() {
  return declare_schedule<Dts>("dts", "all-reduces every few steps, applied a few steps later, perhaps compressed",
                               "L. Zhu et al., \"Distributed training across the world\" (delayed and temporally sparse update), Sec. 3");
}

}  // namespace syncopate
