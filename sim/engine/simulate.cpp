#include "engine/simulate.hpp"

#include <fmt/format.h>

#include <simgrid/version.h>
#include <array>
#include <simgrid/s4u.hpp>

#include "base/errors.hpp"
#include "engine/clock.hpp"
#include "engine/job_run.hpp"

namespace syncopate {

namespace {

namespace s4u = simgrid::s4u;

/// An engine with exact network settings and quiet logs. Address sanitiser needs threads: it takes SimGrid's own context
/// switches for stack overflows.
std::unique_ptr<s4u::Engine> make_engine() {
#ifdef SYNCOPATE_THREAD_CONTEXTS
  constexpr const char* factory = "--cfg=contexts/factory:thread";
#else
  constexpr const char* factory = "--cfg=contexts/factory:raw";
#endif
  static std::array<std::string, 8> arguments = {"simctl",
                                                 "--log=root.app:file:/dev/null",
                                                 "--cfg=network/model:CM02",
                                                 "--cfg=network/crosstraffic:0",
                                                 "--cfg=network/TCP-gamma:1e15",
                                                 "--cfg=surf/precision:1e-12",
                                                 "--cfg=contexts/stack-size:64",
                                                 factory};
  std::array<char*, arguments.size() + 1> argv = {};
  for (std::size_t i = 0; i < arguments.size(); ++i) argv[i] = arguments[i].data();
  int argc = static_cast<int>(arguments.size());
  return std::make_unique<s4u::Engine>(&argc, argv.data());
}

/// Every actor's stack takes two memory mappings, of which Linux allows a process 65,530 (vm.max_map_count).
constexpr int most_actors = 30'000;

}  // namespace

std::string simgrid_version() { return fmt::format("{}.{}", SIMGRID_VERSION_MAJOR, SIMGRID_VERSION_MINOR); }

Timeline simulate(const Cluster& cluster, const std::vector<Job>& jobs) {
  const auto engine = make_engine();
  std::vector<std::unique_ptr<JobRun>> runs;
  int simulated = 0;
  for (const Job& job : jobs) {
    runs.push_back(std::make_unique<JobRun>(job));
    simulated += runs.back()->simulated();
  }
  if (simulated > most_actors) {
    throw SimulationError(
        fmt::format("{} workers would have to be simulated one by one, and at most {} can be; use fewer nodes, or leave out what makes "
                    "them unequal (equal workers are simulated as one, where a schedule waits for all of them)",
                    simulated, most_actors));
  }
  const std::vector<s4u::Host*> hosts = cluster.topology->build(cluster, simulated);
  std::size_t host = 0;
  for (const auto& run : runs) {
    for (int rank = 0; rank < run->simulated(); ++rank) {
      s4u::Actor::create("worker", hosts[host++], [&run = *run, &runs, rank] {
        run.run_worker(rank);
        const auto over = [](const auto& other) { return other->finished(); };
        if (!run.failure() && !std::all_of(runs.begin(), runs.end(), over)) return;
        for (const auto& other : runs) other->stop();
        s4u::Actor::kill_all();
      });
    }
  }
  std::string deadlock;
  s4u::Engine::on_deadlock_cb([&] {
    for (const auto& run : runs) deadlock += (deadlock.empty() ? "" : "; ") + run->describe();
  });
  engine->run();

  Timeline timeline;
  for (const auto& run : runs) {
    if (run->failure()) std::rethrow_exception(run->failure());
    if (!run->finished()) throw SimulationError(fmt::format("deadlock at {:.9g} s: {}", clock_now().value, deadlock));
    timeline.push_back(run->take_timeline());
  }
  return timeline;
}

}  // namespace syncopate
