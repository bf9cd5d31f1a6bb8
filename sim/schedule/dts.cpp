#include <algorithm>
#include <deque>
#include <numeric>
#include <vector>

#include "schedule/compression.hpp"
#include "schedule/posts.hpp"
#include "schedule/schedule.hpp"
#include "schedule/sender.hpp"

namespace syncopate {

namespace {

/// Every P-th step launches a collective of its gradients. The result is applied D steps later.
struct Dts {
  int delay = 0;
  int period = 1;
  Compression compression{};
  double share = 1.0;  ///< the paper's C; below 1 values are sparse
  double index_bytes = 4.0;
  Operation sparse = Operation::all_gather;
  Seconds overhead;
  int channels = unlimited;
  bool by_gradient = false;

  void declare(Parameters& parameters) {
    parameters.required("delay", delay, {0, step_range.high}, "D: steps from a launch until its result is applied", 4);  // Sec. 4.3
    parameters.optional("period", period, step_range, "P: steps from launch to launch");
    parameters.declare({.name = "compression",
                        .meaning = "C: share of the values that are sent; or a compression as in other schedules",
                        .kind = ParameterInfo::Kind::number,
                        .low = 0.0,
                        .high = 1.0,
                        .above = true,
                        .default_value = "1"},
                       [this](const Field& field) {
                         if (field.is_text() || field.is_object()) {
                           compression.read(field);
                         } else {
                           share = field.positive(1.0);
                         }
                       });
    parameters.optional("index_bytes", index_bytes, {0.0, 1024.0}, "bytes of the index of each value that is sent");
    parameters.optional("sparse", sparse, {{"all-gather", Operation::all_gather}, {"all-reduce", Operation::all_reduce}},
                        "collective of the values that are sent where C < 1");
    parameters.optional("overhead_s", overhead, "time of compressing, before each launch");
    parameters.optional("in_flight", channels, {{"pipelined", unlimited}, {"serial", 1}},
                        "pipelined: latencies of collectives in flight overlap; serial: one collective after the other");
    parameters.optional("launch", by_gradient, {{"step", false}, {"gradient", true}},
                        "step: one collective of all gradients at the step's end; gradient: one for each when it is ready");
  }

  /// The compression, or the share as a compression.
  Compression sending() const {
    if (share == 1.0) return compression;
    return {.name = "sparse", .operation = sparse, .share = share, .index_bytes = index_bytes};
  }
  Operation operation() const { return sending().operation; }

  void check(Object& fields, const Cluster& cluster) const {
    if (operation() != Operation::all_gather || knows_cost(cluster, Operation::all_gather)) return;
    fields.at("compression")
        .fail_because(
            "the cluster's fit is faster than reduce_s_per_B allows, so no time is left for an all-gather; lower reduce_s_per_B or "
            "use \"sparse\": \"all-reduce\"");
  }

  /// With one collective per launch and D <= P, a rank has received the last before it launches the next: no two are in flight at it.
  bool has_one_in_flight() const { return !by_gradient && delay <= period; }
  Traffic traffic() const { return all_reduces({.channels = has_one_in_flight() ? 1 : channels}, operation()); }
  Pace pace() const {
    return {
        .cycle = std::lcm(period, std::max(delay, 1)), .waits_for_all = true, .waits_later = delay > 0, .is_lossy = !sending().is_none()};
  }

  std::string unrecorded() const { return sending().unrecorded(); }
  std::vector<ModelPart> parts(const ScheduleInput& input) const {
    const bool in_parts = by_gradient && !sending().is_none();
    return parts_of((in_parts ? group_wfbp : group_sync_easgd)(input.profile, CostCurve()), input.profile);
  }

  double posts(const StepProfile& profile) const { return (by_gradient ? static_cast<double>(profile.gradients.size()) : 1.0) / period; }

  Program program(const ScheduleInput& input) const {
    struct Launched {
      int step;
      std::vector<Handle> handles;
      Values own{};  ///< the values that this rank has sent
    };
    struct Sent {
      Seconds post_at;
      CompressedPost post;
    };
    const Compression way = sending();
    std::vector<Sent> sent;
    Seconds decode;
    const Grouping grouping = (by_gradient ? group_wfbp : group_sync_easgd)(input.profile, CostCurve());
    for (const GroupPost& group : group_posts(grouping, input.profile)) {
      sent.push_back({group.post_at, {way, group.payload, input}});
      decode += sent.back().post.decode;
    }
    return [p = *this, sent, decode](Worker& worker) {
      std::deque<Launched> in_flight;
      Sender send(p.sending(), sent.size());
      GradientSum since_launch(worker);
      while (worker.next_step()) {
        worker.forward();
        const bool launches = worker.step() % p.period == p.period - 1;
        if (launches && p.by_gradient) {
          worker.spend(p.overhead);
          in_flight.push_back({worker.step(), {}});
          for (std::size_t i = 0; i < sent.size(); ++i) {
            worker.backward_until(sent[i].post_at);
            const Values value = send(worker, i, since_launch);
            in_flight.back().handles.push_back(sent[i].post(worker, worker.step(), value));
            in_flight.back().own.append(value);
          }
        }
        worker.backward();
        Sum gradient = worker.dataflow().gradient();
        const bool launches_now = launches && !p.by_gradient;
        const auto launch = [&] {
          in_flight.push_back({worker.step(), {}, send(worker, 0, since_launch)});
          const CompressedPost& whole = sent.front().post;
          in_flight.back().handles.push_back(
              worker.collectives().post(whole.payload, worker.step(), {.operation = whole.operation, .value = in_flight.back().own}));
        };
        if (launches_now) worker.spend(p.overhead + sent.front().post.encode);
        if (launches_now && p.delay == 0) launch();
        if (!in_flight.empty() && in_flight.front().step == worker.step() - p.delay) {
          worker.collectives().wait(in_flight.front().handles);
          worker.spend(decode);
          worker.apply(in_flight.front().step);
          gradient += worker.collectives().mean_of(in_flight.front().handles) - in_flight.front().own;
          in_flight.pop_front();
        }
        if (launches_now && p.delay > 0) launch();
        since_launch();
        if (launches) since_launch.clear();
        worker.update();
        worker.dataflow().replica().step(gradient);
      }
    };
  }
};

}  // namespace

ScheduleRow dts() {
  return declare_schedule<Dts>("dts", "all-reduces every few steps, applied a few steps later, optionally compressed",
                               "L. Zhu et al., \"Distributed training across the world\" (delayed and temporally sparse update), Sec. 3");
}

}  // namespace syncopate
