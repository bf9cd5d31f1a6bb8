#include "export/iteration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/errors.hpp"
#include "base/indexed.hpp"
#include "run/run_plan.hpp"

namespace syncopate {

namespace {

constexpr const char* exportable_instead =
    "; export an all-reduce schedule that waits for its collectives in each iteration, such as wfbp or mg-wfbp";

/// Throws SimulationError where more than collectives in the order of posting moves.
void require_collectives_only(const Scenario& scenario) {
  const Schedule& schedule = scenario.schedule;
  const Traffic& traffic = schedule.traffic;
  const auto any_stream = [&](auto&& is) { return std::any_of(traffic.streams.begin(), traffic.streams.end(), is); };
  const int channels = scenario.channels.value_or(1);
  std::string why;
  if (scenario.jobs)
    why = "there are several jobs, and an export is of one; leave \"jobs\" out";
  else if (scenario.cluster.workers() == 1)
    why = "a single worker sends no messages; use more nodes";
  else if (traffic.servers)
    why = fmt::format("{} sends to parameter servers{}", schedule.name, exportable_instead);
  else if (traffic.peers)
    why = fmt::format("{} sends from rank to rank{}", schedule.name, exportable_instead);
  else if (!traffic.has_collectives())
    why = fmt::format("{} has no collectives{}", schedule.name, exportable_instead);
  else if (traffic.has_partial_collectives())
    why = fmt::format("collectives of {} begin without some ranks{}", schedule.name, exportable_instead);
  else if (schedule.pace.waits_later || schedule.pace.updates_in_forward)
    why = fmt::format("an iteration of {} waits for collectives of an earlier one, so that one alone does not say how long it takes{}",
                      schedule.name, exportable_instead);
  else if (any_stream([](const StreamTraffic& stream) { return stream.rules.by_priority; }))
    why = fmt::format("{} orders its collectives by priority while it runs{}", schedule.name, exportable_instead);
  else if (any_stream([](const StreamTraffic& stream) { return stream.follows; }))
    why = fmt::format("collectives of {} begin when others have ended{}", schedule.name, exportable_instead);
  else if (channels > 1 || any_stream([&](const StreamTraffic& stream) { return !scenario.channels && stream.rules.channels > 1; }))
    why = "a rank has several collectives in flight; set \"channels\" to 1";
  else if (schedule.pace.steps_per_round > 0)
    why = fmt::format("iterations of {} are rounds of several steps{}", schedule.name, exportable_instead);
  else if (scenario.cluster.latency_cv > 0.0)
    why = "latencies of collectives are drawn; leave \"latency_cv\" out";
  if (!why.empty()) throw SimulationError(why);
}

/// What a rank computed, in the order of time.
struct Stretch {
  Interval time;
  Phase phase = Phase::update;
  std::string layer;
};

std::vector<std::vector<Stretch>> stretches_of(const JobTimeline& timeline, const StepProfile& profile) {
  std::vector<std::vector<Stretch>> stretches(timeline.steps.size());
  for (const LayerSpan& span : timeline.layers)
    stretches[at(span.worker)].push_back({{span.start, span.end}, span.phase, profile.layers[at(span.layer)].name});
  for (std::vector<Stretch>& rank : stretches)
    std::stable_sort(rank.begin(), rank.end(), [](const Stretch& a, const Stretch& b) { return a.time.start < b.time.start; });
  return stretches;
}

/// Appends what a rank computed in `time`, by layers.
void add_compute(const Interval& time, const std::vector<Stretch>& stretches, std::vector<Action>& program) {
  const Seconds least = rounding * time.end;  // shorter gaps between layers are rounding
  const auto add = [&](Seconds until, Seconds& from, Phase phase, const std::string& layer) {
    if (until - from <= least) return;
    program.push_back({.length = until - from, .phase = phase, .layer = layer});
    from = until;
  };
  Seconds now = time.start;
  const auto first = std::partition_point(stretches.begin(), stretches.end(), [&](const Stretch& each) { return each.time.end <= now; });
  for (auto each = first; each != stretches.end() && each->time.start < time.end; ++each) {
    add(std::min(each->time.start, time.end), now, Phase::update, "");
    add(std::min(each->time.end, time.end), now, each->phase, each->layer);
  }
  add(time.end, now, Phase::update, "");
}

/// Throws SimulationError unless the rank awaits all that it posts.
void require_waits(const std::vector<Tie>& ties, const std::string& schedule) {
  std::set<std::pair<int, int>> open;
  for (const Tie& tie : ties) {
    if (tie.posts) {
      open.insert({tie.stream, tie.number});
    } else {
      open.erase({tie.stream, tie.number});
    }
  }
  if (open.empty()) return;
  throw SimulationError(
      fmt::format("an iteration of {} does not wait for {} of the collectives that it posts, so that one alone does not "
                  "say how long it takes{}",
                  schedule, open.size(), exportable_instead));
}

}  // namespace

Iteration simulate_iteration(Setup& setup, bool as_planned) {
  const Scenario& scenario = setup.scenario();
  require_collectives_only(scenario);
  const Fidelity planned = plan_of(setup).fidelity;
  Job job = setup.job(planned == Fidelity::simgrid ? Fidelity::flow : planned);  // SimGrid does not tell what a program awaits
  if (!as_planned) job.model = PerFlow{&setup.planned()};
  job.warmup = 0;
  job.measured = scenario.schedule.pace.cycle;
  job.lockstep = false;
  job.goes_on = false;
  job.records_causes = true;
  job.keeps_messages = false;
  job.shown_workers.resize(at(job.ranks));
  std::iota(job.shown_workers.begin(), job.shown_workers.end(), 0);
  const JobTimeline timeline = simulate({job}, setup.network()).front();
  if (timeline.ties.empty()) throw SimulationError("the iteration posts too many collectives; use fewer nodes or merge gradients");

  Iteration iteration = {.streams = timeline.streams,
                         .collectives = {},
                         .programs = {},
                         .host = scenario.cluster.host.collective,
                         .end = {},
                         .steps = job.measured};
  std::map<std::pair<int, int>, std::size_t> index;
  std::vector<const CollectiveSpan*> spans;
  for (const CollectiveSpan& span : timeline.collectives) spans.push_back(&span);
  std::sort(spans.begin(), spans.end(), [](const CollectiveSpan* a, const CollectiveSpan* b) {
    return std::pair(a->stream, a->number) < std::pair(b->stream, b->number);
  });
  for (const CollectiveSpan* span : spans) {
    index[{span->stream, span->number}] = iteration.collectives.size();
    iteration.collectives.push_back({span->operation, span->stream, span->payload});
  }
  const std::vector<std::vector<Stretch>> stretches = stretches_of(timeline, setup.profile());
  for (std::size_t rank = 0; rank < timeline.steps.size(); ++rank) {
    require_waits(timeline.ties[rank], scenario.schedule.name);
    std::vector<Action>& program = iteration.programs.emplace_back();
    Seconds now;
    for (const Tie& tie : timeline.ties[rank]) {
      add_compute({now, tie.before}, stretches[rank], program);
      program.push_back({.kind = tie.posts ? Action::Kind::post : Action::Kind::wait, .collective = index.at({tie.stream, tie.number})});
      now = tie.after;
    }
    const Seconds end = timeline.steps[rank].back().end;
    add_compute({now, end}, stretches[rank], program);
    iteration.end = std::max(iteration.end, end);
  }
  return iteration;
}

}  // namespace syncopate
