#include "engine/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <simgrid/s4u.hpp>

#include <simgrid/version.h>

#include "base/errors.hpp"
#include "base/processes.hpp"
#include "cluster/simgrid.hpp"
#include "engine/clock.hpp"
#include "engine/flows.hpp"
#include "engine/job_run.hpp"

namespace syncopate {

namespace {

namespace s4u = simgrid::s4u;

/// Throws SimulationError when memory is too small for so many workers in this process.
void check_memory(double workers) {
  constexpr double per_worker = 15e3;  // two pages of a stack, the worker and what it records of some ten steps
  const Bytes needed(per_worker * workers);
  const Bytes available = available_memory();
  if (needed <= available) return;
  throw SimulationError(
      fmt::format("{} workers would have to be simulated one by one, which takes about {:.0f} GB of memory, of which {:.1f} GB are "
                  "available; use fewer nodes, or leave out what makes them unequal (equal workers are simulated as one, where a schedule "
                  "waits for all of them)",
                  workers, needed.value / 1e9, available.value / 1e9));
}

/// Actor::kill_all() looks for each of them in the list of those that it has told, which takes long if that is not emptied.
void end_other_actors() {
  constexpr int at_once = 1024;
  int ended = 0;
  for (const s4u::ActorPtr& actor : simgrid_engine().get_all_actors()) {
    if (actor.get() == s4u::Actor::self()) continue;
    actor->kill();
    if (++ended % at_once == 0) s4u::this_actor::yield();
  }
}

/// Runs every worker as an actor; returns who waits for what if the run ends in a deadlock.
std::string run_actors(const std::vector<std::unique_ptr<JobRun>>& runs, int workers, Clock& clock) {
  make_room_for_actors(workers);
  bool is_over = false;
  for (const auto& run : runs) {
    for (int rank = 0; rank < run->simulated(); ++rank) {
      s4u::Actor::create("worker", simgrid_home(), [&run = *run, &runs, &clock, &is_over, rank] {
        run.run_worker(rank);
        const auto finished = [](const auto& other) { return other->finished(); };
        if (is_over || (!run.failure() && !std::all_of(runs.begin(), runs.end(), finished))) return;
        is_over = true;
        clock.stop();
        end_other_actors();
      });
    }
  }
  static std::function<void()> on_deadlock;  // SimGrid keeps what is called then for good
  [[maybe_unused]] static const bool is_connected = [] {
    s4u::Engine::on_deadlock_cb([] { on_deadlock(); });
    return true;
  }();
  std::string deadlock;
  on_deadlock = [&] {
    for (const auto& run : runs) deadlock += (deadlock.empty() ? "" : "; ") + run->describe();
  };
  simgrid_engine().run();
  on_deadlock = [] {};
  return deadlock;
}

/// Runs a job's only worker; returns what it waits for if the run ends in a deadlock.
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
  const auto by_flows = [](const Job& job) { return std::holds_alternative<PerFlow>(job.model); };
  const bool moves_flows = std::any_of(jobs.begin(), jobs.end(), by_flows);
  Clock clock(moves_flows ? SimGridPart::flows : simulated > 1 ? SimGridPart::actors : SimGridPart::nothing);
  if (clock.has_actors()) {
    check_memory(simulated);
    simgrid_engine();
  }
  const auto flows = moves_flows ? std::make_unique<Flows>(network, clock) : nullptr;
  std::vector<std::unique_ptr<JobRun>> runs;
  runs.reserve(jobs.size());
  for (const Job& job : jobs) {
    runs.push_back(std::make_unique<JobRun>(job, network, by_flows(job) ? flows.get() : nullptr, jobs.size() == 1, clock));
  }
  const std::string deadlock = clock.has_actors() ? run_actors(runs, simulated, clock) : run_alone(*runs.front());

  Timeline timeline;
  for (const auto& run : runs) {
    if (run->failure()) std::rethrow_exception(run->failure());
    if (!run->finished()) throw SimulationError(fmt::format("deadlock at {:.9g} s: {}", clock.now().value, deadlock));
    timeline.push_back(run->take_timeline());
  }
  return timeline;
}

}  // namespace syncopate
