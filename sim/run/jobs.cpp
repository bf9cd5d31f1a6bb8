#include "run/jobs.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/processes.hpp"
#include "base/random.hpp"
#include "engine/simulate.hpp"
#include "metrics/metrics.hpp"
#include "run/links.hpp"
#include "run/measure_point.hpp"
#include "run/run_plan.hpp"

namespace syncopate {

namespace {

/// What a job draws depends on the seed and its number; the first job draws as if it were the scenario's only one.
std::uint64_t seed_of(std::uint64_t seed, std::size_t job) {
  if (job == 0) return seed;
  const auto [low, high, unused_1, unused_2] = philox4x32({static_cast<std::uint32_t>(job), 0, 0, 0x6a6f6273},
                                                          {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)});
  return (std::uint64_t{high} << 32U) | low;
}

/// One job of a point.
struct Part {
  Scenario scenario;
  std::unique_ptr<Setup> setup{};
  RunPlan plan{};
};

/// How much of all jobs' iterations is done, together and alone.
class AllHeadway {
 public:
  explicit AllHeadway(std::size_t runs) : done_(runs), all_(runs) {}

  void watch(Job& job, std::size_t run) {
    all_[run] = job.warmup + job.measured;
    job.on_iteration = [this, run](int iteration) {
      done_[run] = std::min(iteration, all_[run]);
      Headway headway;
      for (std::size_t i = 0; i < done_.size(); ++i) {
        headway.done += done_[i];
        headway.all += all_[i];
      }
      tell_headway(headway);
    };
  }

 private:
  std::vector<int> done_;
  std::vector<int> all_;
};

std::vector<Part> parts_of(const Point& point, const PointOptions& options) {
  const Jobs& jobs = *point.scenario.jobs;
  const auto links = std::make_shared<KnownLinks>();
  std::vector<Part> parts;
  int servers = 0;
  for (const SharingJob& job : jobs.list) {
    parts.push_back({job.scenario});
    parts.back().scenario.speed.seed = seed_of(point.scenario.speed.seed, parts.size() - 1);
    servers += job.scenario.server_nodes();
  }
  int servers_before = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const SharingJob& job = jobs.list[i];
    NetworkShare share = {static_cast<int>(i), job.nodes, servers_before, servers, links};
    servers_before += job.scenario.server_nodes();
    const PointOptions part_options = i == 0 ? options : options.without_files();
    parts[i].setup = std::make_unique<Setup>(parts[i].scenario, jobs.cluster, std::move(share), part_options);
    parts[i].plan = plan_of(*parts[i].setup);
  }
  return parts;
}

Job job_of(Part& part, const SharingJob& sharing) {
  Job job = part.setup->job(part.plan.fidelity);
  job.network = &part.setup->network();
  job.start = sharing.start;
  job.cycle = part.scenario.schedule.pace.cycle;
  return job;
}

/// Keeps what another job moves while the first one is shown, for how links are used.
void keep_messages_beside(const Job& first, Job& other) {
  if (first.shown_workers.empty()) return;
  other.keeps_messages = other.sends_more && other.simulated() <= TimelineView::most_in_full;
  other.shown_time = first.shown_time;
  if (!other.lockstep) other.collective_messages.emplace(std::vector<int>(), first.shown_time);
}

/// The busiest links of those that several jobs use.
Json shared_links(const Timeline& runs, std::vector<Part>& parts, const Jobs& jobs) {
  struct Use {
    double utilisation = 0.0;
    Json jobs = Json::array();
  };
  std::vector<Use> uses;
  const Network& network = parts.front().setup->network();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::vector<Bytes> bytes = bytes_over_links(runs[i], *parts[i].setup);
    uses.resize(std::max(uses.size(), bytes.size()));
    const Seconds window = runs[i].window.close - runs[i].window.open;
    for (std::size_t link = 0; link < bytes.size(); ++link) {
      if (bytes[link] == Bytes(0)) continue;
      uses[link].utilisation += bytes[link] / (network.bandwidth(link) * window);
      uses[link].jobs.push_back(jobs.list[i].name);
    }
  }
  std::vector<BusyLink> shared;
  for (std::size_t link = 0; link < uses.size(); ++link) {
    if (uses[link].jobs.size() > 1) shared.push_back({link, uses[link].utilisation});
  }
  constexpr std::size_t most_links = 10;
  Json list = Json::array();
  for (const BusyLink& busy : busiest_links(std::move(shared), most_links, network)) {
    const NetworkLink link = network.link(busy.link);
    list.push_back(
        {{"name", link.name}, {"bandwidth_Bps", link.bandwidth.value}, {"utilisation", busy.utilisation}, {"jobs", uses[busy.link].jobs}});
  }
  return list;
}

/// Which scripted events a job's window leaves out.
std::vector<Json> missed(const Scenario& job, const JobTimeline& run) {
  std::vector<Json> events;
  for (const Json& event : events_outside(job, run.window)) events.push_back({event["what"], event["at_s"], event["count"]});
  return events;
}

}  // namespace

PointResult simulate_jobs(const Point& point, const PointOptions& options) {
  const Jobs& sharing = *point.scenario.jobs;
  std::vector<Part> parts = parts_of(point, options);
  AllHeadway headway(2 * parts.size());
  std::vector<Job> jobs;
  std::vector<Job> alone;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (std::vector<Job>* list : {&jobs, &alone}) list->push_back(job_of(parts[i], sharing.list[i]));
    if (i > 0) keep_messages_beside(jobs.front(), jobs.back());
    headway.watch(jobs.back(), i);
    headway.watch(alone.back(), parts.size() + i);
    alone.back().shown_workers.clear();
    alone.back().records_causes = alone.back().keeps_messages = false;
    alone.back().collective_messages.reset();
    alone.back().shown_time.reset();
  }
  const Timeline runs = simulate(jobs, parts.front().setup->network());
  std::vector<JobInRun> others;
  for (std::size_t i = 1; i < parts.size(); ++i)
    others.push_back({runs[i], *parts[i].setup, !jobs[i].sends_more || jobs[i].keeps_messages});
  PointResult result = measure_point(point, *parts.front().setup, jobs.front(), runs.front(), parts.front().plan, others);
  result.workers_simulated = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::int64_t batch = parts[i].scenario.trace->batch;
    const Metrics together = measure(runs[i], batch);
    const Timeline by_itself = simulate({alone[i]}, parts[i].setup->network());
    if (missed(parts[i].scenario, runs[i]) != missed(parts[i].scenario, by_itself.front()))
      result.details["jobs_meet_other_events"].push_back(sharing.list[i].name);
    result.jobs.push_back({together.iteration, half_width_of(point.scenario, parts[i].scenario, runs[i], together.iteration),
                           measure(by_itself.front(), batch).iteration, together.exposed_communication, together.throughput});
    result.workers_simulated += jobs[i].simulated();
  }
  result.details["shared_links"] = shared_links(runs, parts, sharing);
  result.require_finite();
  return result;
}

}  // namespace syncopate
