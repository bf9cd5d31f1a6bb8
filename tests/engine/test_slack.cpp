#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <type_traits>

#include "base/errors.hpp"
#include "base/processes.hpp"
#include "engine/clock/actors.hpp"
#include "engine/simulate.hpp"
#include "metrics/slack.hpp"
#include "run/setup.hpp"
#include "support/random_scenario.hpp"

using namespace syncopate;
using namespace syncopate::testing;

namespace {

/// A scenario in which slack is exact: collectives wait for all ranks, one after the other, and no pause or traffic makes anything longer.
Json draw_exact_scenario(const ScheduleRow& row) {
  Json scenario = draw_scenario(row);
  scenario["fidelity"] = "alpha-beta";
  scenario["all_reduce"] = "ring";
  scenario.erase("channels");
  if (row.name == "dts") scenario["schedule"]["in_flight"] = "serial";
  for (const char* const key : {"regions", "wan", "topology", "placement", "protocol", "latency_cv"}) scenario["cluster"].erase(key);
  scenario["cluster"]["link"].erase("latency_jitter");
  scenario["workers"].erase("events");
  scenario["workers"].erase("overlap_slowdown");
  return scenario;
}

/// A run of a point in which every worker is simulated and shown.
class Run {
 public:
  explicit Run(const Point& point)
      : setup_(point.scenario, {.shortcuts = false, .explain = true}), job_(setup_.job(*point.scenario.fidelity)) {
    job_.shown_workers.resize(static_cast<std::size_t>(job_.simulated()));
    std::iota(job_.shown_workers.begin(), job_.shown_workers.end(), 0);
  }

  JobTimeline simulate() { return syncopate::simulate({job_}, setup_.network()).front(); }
  /// With a worker's GPUs standing still for a while.
  JobTimeline simulate_with_pause(int worker, Seconds at, Seconds length) {
    Job longer = job_;
    longer.measured *= 2;  // a worker that falls behind is to get as far
    longer.speed.pauses.push_back({worker * job_.gpus_per_rank, at, at + length});
    return syncopate::simulate({longer}, setup_.network()).front();
  }

 private:
  Setup setup_;
  Job job_;
};

/// How much later, at most, a worker ends the step that was its last one in `before`; nothing when one no longer gets there.
std::optional<Seconds> delay(const JobTimeline& before, const JobTimeline& after) {
  std::optional<Seconds> most;
  for (std::size_t worker = 0; worker < before.steps.size(); ++worker) {
    const std::size_t last = before.steps[worker].size() - 1;
    if (after.steps[worker].size() <= last) return std::nullopt;
    const Seconds later = after.steps[worker][last].end - before.steps[worker][last].end;
    most = most ? std::max(*most, later) : later;
  }
  return most;
}

/// What becomes of a run when a worker stands still in a layer.
struct Trial {
  Seconds length;  ///< of the layer, after the last post in it
  Seconds slack;
  Seconds noise;                  ///< of times
  Seconds more;                   ///< than the slack, for which it stands still ...
  std::optional<Seconds> then;    ///< ... which delays the last step by that
  std::optional<Seconds> within;  ///< a little less than the slack does so by that
};
static_assert(std::is_trivially_copyable_v<Trial>);

/// Of one of the layers; nothing where it has no slack.
std::optional<Trial> try_layer(const Point& point, std::size_t any) {
  Run run(point);
  const JobTimeline timeline = run.simulate();
  const LayerSpan& layer = timeline.layers[any % timeline.layers.size()];
  const auto slack = Slack(timeline).of_worker(layer.worker, layer.end);
  if (!slack) return std::nullopt;
  Seconds last_post = layer.start;  // gradients may be ready within it
  for (const Tie& tie : timeline.ties[static_cast<std::size_t>(layer.worker)]) {
    if (tie.before < layer.end * (1.0 - rounding)) last_post = std::max(last_post, tie.after);
  }
  const Seconds at = 0.5 * (last_post + layer.end);
  const auto delay_by = [&](Seconds length) { return delay(timeline, run.simulate_with_pause(layer.worker, at, length)); };
  const Seconds more = 0.01 * timeline.compute;
  return Trial{layer.end - last_post, *slack, 1e-9 * timeline.window.close, more, delay_by(*slack + more), delay_by(0.999 * *slack)};
}

/// The same in a process of its own, as actors are never forgotten.
std::optional<Trial> try_apart(const Point& point, std::size_t any) {
  std::optional<Trial> trial;
  actors();
  run_forked(
      1, 1,
      [&](int /*i*/) {
        const auto its = try_layer(point, any);
        std::string bytes(its ? sizeof(Trial) : 0, '\0');
        if (its) std::memcpy(bytes.data(), &*its, bytes.size());
        return bytes;
      },
      [&](int /*i*/, const Outcome& outcome) {
        if (!outcome.ok) throw Error(outcome.code, outcome.error);
        if (!outcome.result.empty()) std::memcpy(&trial.emplace(), outcome.result.data(), sizeof(Trial));
      },
      {}, can_run_actors);
  return trial;
}

bool is_exact_for(const ScheduleRow& row) {
  // Servers and peers have no ties. Horovod's cycles and LASGD's programs look at the time.
  static const std::set<std::string_view> names = {"s-sgd", "wfbp", "sync-easgd", "mg-wfbp", "fusion", "dts", "sasgd", "local-sgd"};
  return names.contains(row.name);
}

}  // namespace

TEST_SUITE("How much later may it end?") {
  TEST_CASE("a worker that stands still for less than a layer's slack delays nobody, and one that does for longer delays by the rest") {
    for (const ScheduleRow& row : schedules()) {
      if (!is_exact_for(row)) continue;
      CHECK(holds(fmt::format("slack is what {} can bear", row.name), [&row] {
        const Json scenario = draw_exact_scenario(row);
        RC_LOG(scenario.dump());
        const Point point = read_point(scenario);
        const auto trial = try_apart(point, static_cast<std::size_t>(*rc::gen::inRange<std::int64_t>(0, 1 << 30)));
        RC_PRE(trial.has_value() && trial->length > Seconds(1e-7));
        RC_LOG(fmt::format("slack {} s", trial->slack.value));
        RC_ASSERT(trial->then.has_value());
        RC_ASSERT(std::abs((*trial->then - trial->more).value) <= trial->noise.value);
        RC_ASSERT(trial->within.has_value());
        RC_ASSERT(*trial->within <= trial->noise);
      }));
    }
  }
}
