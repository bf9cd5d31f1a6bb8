#include "engine/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include <simgrid/forward.h>
#include <simgrid/version.h>

#include "base/errors.hpp"
#include "base/indexed.hpp"
#include "base/memory.hpp"
#include "engine/clock/actors.hpp"
#include "engine/clock/clock.hpp"
#include "engine/job_run.hpp"
#include "engine/network/fair_flows.hpp"
#include "engine/simgrid/simgrid_flows.hpp"
#include "engine/windows.hpp"

namespace syncopate {

namespace {

/// Throws SimulationError if this process has too little memory for so many workers.
void check_memory(double workers) {
  constexpr double per_worker = 15e3;  // two pages of stack, the worker, and its record of about ten steps
  const Bytes needed(per_worker * workers);
  constexpr double addresses_per_worker = 72e3;  // a stack and its guard page
  const Bytes addresses(addresses_per_worker * workers);
  if (const Bytes left = available_addresses(); addresses > left) {
    throw SimulationError(
        fmt::format("out of memory: {} workers would have to be simulated one by one; their stacks take {:.1f} GB of addresses, of which "
                    "{:.1f} GB are left; raise the limit (ulimit -v), use fewer nodes, or leave out what makes the workers unequal",
                    workers, addresses.value / 1e9, left.value / 1e9));
  }
  const Bytes available = available_memory();
  if (needed <= available) return;
  throw SimulationError(fmt::format(
      "{} workers would have to be simulated one by one, which takes about {:.0f} GB of memory, of which {:.1f} GB are available; use "
      "fewer nodes, or leave out what makes the workers unequal (equal workers are simulated as one if the schedule waits for all of them)",
      workers, needed.value / 1e9, available.value / 1e9));
}

/// Runs every worker as an actor. After a deadlock, returns a description of who waits for what.
std::string run_actors(const std::vector<std::unique_ptr<JobRun>>& runs, bool in_simgrid, Clock& clock) {
  Indexed<std::pair<JobRun*, int>> workers;
  for (const auto& run : runs) {
    for (int rank = 0; rank < run->simulated(); ++rank) workers.emplace_back(run.get(), rank);
  }
  bool is_over = false;
  const auto work = [&](int number) {
    const auto [run, rank] = workers[number];
    run->run_worker(rank);
    const auto finished = [](const auto& job) { return job->finished(); };
    if (is_over || (!run->failure() && !std::all_of(runs.begin(), runs.end(), finished))) return;
    is_over = true;
    clock.stop();
    actors().end_others();
  };
  std::string deadlock;
  const auto describe = [&] {
    for (const auto& run : runs) deadlock += (deadlock.empty() ? "" : "; ") + run->describe();
  };
  if (in_simgrid) {
    clock.follow([](Seconds time) { actors().call_at(time.value); });
    actors().run_in_time(
        static_cast<int>(workers.size()), work, [&](double now) { clock.advance(Seconds(now)); }, describe);
    return deadlock;
  }
  actors().run(static_cast<int>(workers.size()), work, [&] {
    if (clock.run_until_actor_goes_on()) return true;
    describe();
    return false;
  });
  return deadlock;
}

/// Runs a job's only worker. After a deadlock, returns a description of what it waits for.
std::string run_alone(JobRun& run) {
  try {
    run.run_worker(0);
    return "";
  } catch (const Deadlock&) {
    return run.describe();
  }
}

}  // namespace

std::string simgrid_version() { return fmt::format("{}.{}", SIMGRID_VERSION_MAJOR, SIMGRID_VERSION_MINOR); }

Timeline simulate(const std::vector<Job>& jobs, Network& network) {
  int simulated = 0;
  for (const Job& job : jobs) simulated += job.simulated();
  const auto moves_flows = [](const Job& job) {
    return std::holds_alternative<PerFlow>(job.model) || (job.servers && job.servers->as_flows);
  };
  const auto* by_flow = std::get_if<PerFlow>(&jobs.front().model);
  const SimGridModel* simgrid = by_flow != nullptr && by_flow->simgrid ? &*by_flow->simgrid : nullptr;
  const bool has_actors = simulated > 1 || simgrid != nullptr;
  if (has_actors) {
    check_memory(simulated);
    if (!can_run_actors()) throw SimulationError("workers of an earlier run still wait in this process");
  }
  Clock clock(has_actors ? &actors() : nullptr);
  std::unique_ptr<Flows> flows;
  if (simgrid != nullptr) {
    flows = std::make_unique<SimGridFlows>(network, *simgrid, clock);
  } else if (std::any_of(jobs.begin(), jobs.end(), moves_flows)) {
    flows = std::make_unique<FairFlows>(network, clock);
  }
  Windows windows;
  std::vector<std::unique_ptr<JobRun>> runs;
  runs.reserve(jobs.size());
  for (const Job& job : jobs) {
    Network& network_of_job = job.network == nullptr ? network : *job.network;
    runs.push_back(std::make_unique<JobRun>(job, network_of_job, flows.get(), jobs.size() == 1, windows, clock));
    windows.add(*runs.back());
  }
  const std::string deadlock = has_actors ? run_actors(runs, simgrid != nullptr, clock) : run_alone(*runs.front());

  Timeline timeline;
  for (const auto& run : runs) {
    if (run->failure()) std::rethrow_exception(run->failure());
    if (!run->finished()) throw SimulationError(fmt::format("deadlock at {:.9g} s: {}", clock.now().value, deadlock));
    timeline.push_back(run->take_timeline());
  }
  return timeline;
}

}  // namespace syncopate
