#include "engine/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <simgrid/s4u.hpp>

#include <simgrid/version.h>

#include "base/errors.hpp"
#include "cluster/simgrid.hpp"
#include "engine/clock.hpp"
#include "engine/flows.hpp"
#include "engine/job_run.hpp"

namespace syncopate {

namespace {

namespace s4u = simgrid::s4u;

/// Every actor's stack takes two memory mappings, of which Linux allows a process 65,530 (vm.max_map_count).
constexpr int most_actors = 30'000;

}  // namespace

std::string simgrid_version() { return fmt::format("{}.{}", SIMGRID_VERSION_MAJOR, SIMGRID_VERSION_MINOR); }

std::string_view to_string(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::alpha_beta: return "alpha-beta";
    case Fidelity::per_message: return "per-message";
    case Fidelity::flow: return "flow";
  }
  return "?";
}

Timeline simulate(const std::vector<Job>& jobs, Network& network) {
  s4u::Engine& engine = simgrid_engine();
  Clock clock;
  const auto by_flows = [](const Job& job) { return std::holds_alternative<PerFlow>(job.model); };
  const auto flows = std::any_of(jobs.begin(), jobs.end(), by_flows) ? std::make_unique<Flows>(network, clock) : nullptr;
  std::vector<std::unique_ptr<JobRun>> runs;
  int simulated = 0;
  for (const Job& job : jobs) {
    runs.push_back(std::make_unique<JobRun>(job, network, by_flows(job) ? flows.get() : nullptr, jobs.size() == 1, clock));
    simulated += runs.back()->simulated();
  }
  if (simulated > most_actors) {
    throw SimulationError(
        fmt::format("{} workers would have to be simulated one by one, and at most {} can be; use fewer nodes, or leave out what makes "
                    "them unequal (equal workers are simulated as one, where a schedule waits for all of them)",
                    simulated, most_actors));
  }
  for (const auto& run : runs) {
    for (int rank = 0; rank < run->simulated(); ++rank) {
      s4u::Actor::create("worker", simgrid_home(), [&run = *run, &runs, &clock, rank] {
        run.run_worker(rank);
        const auto over = [](const auto& other) { return other->finished(); };
        if (!run.failure() && !std::all_of(runs.begin(), runs.end(), over)) return;
        clock.stop();
        s4u::Actor::kill_all();
      });
    }
  }
  std::string deadlock;
  s4u::Engine::on_deadlock_cb([&] {
    for (const auto& run : runs) deadlock += (deadlock.empty() ? "" : "; ") + run->describe();
  });
  engine.run();

  Timeline timeline;
  for (const auto& run : runs) {
    if (run->failure()) std::rethrow_exception(run->failure());
    if (!run->finished()) throw SimulationError(fmt::format("deadlock at {:.9g} s: {}", Clock::now().value, deadlock));
    timeline.push_back(run->take_timeline());
  }
  return timeline;
}

}  // namespace syncopate
