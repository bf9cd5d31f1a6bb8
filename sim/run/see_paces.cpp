#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/errors.hpp"
#include "base/indexed.hpp"
#include "base/processes.hpp"
#include "run/cost.hpp"
#include "run/run_counts.hpp"

namespace syncopate {

namespace {

/// Steps per round, then the time of a step of each simulated worker. Throws SimulationError.
std::string simulate_paces(const Scenario& scenario, Fidelity fidelity) {
  Setup setup(scenario, {});
  const Timeline timeline = simulate({setup.job(fidelity)}, setup.network());
  double steps = 0.0;
  double rounds = 0.0;
  std::vector<double> paces;
  for (const std::vector<Step>& of_worker : timeline.front().steps) {
    const auto count = static_cast<double>(of_worker.size());
    const double end = of_worker.empty() ? 0.0 : of_worker.back().end.value;
    if (!(end > 0.0 && std::isfinite(end))) throw SimulationError("a worker has not ended a step");
    paces.push_back(end / count);
    steps += count;
    rounds += static_cast<double>(std::ranges::count_if(of_worker, [](const Step& step) { return step.mixed_after > 0; }));
  }
  const int most_steps = std::max(1, scenario.schedule.pace.steps_per_round);
  return fmt::format("{} {}", std::clamp(steps / std::max(1.0, rounds), 1.0, static_cast<double>(most_steps)), fmt::join(paces, " "));
}

}  // namespace

std::optional<SeenPaces> see_paces(const Scenario& scenario, const RunPlan& plan) {
  constexpr Seconds most_estimated(0.1);
  constexpr Seconds most_taken(0.3);
  const Pace& pace = scenario.schedule.pace;
  if (plan.ranks == 1 || (pace.steps_per_round == 0 && plan.simulated == 1)) return std::nullopt;
  Scenario seen = scenario;
  seen.chooses_window = false;
  seen.warmup = seen.measured = pace.cycle;
  seen.speed.clear_events();
  if (CostEstimate(seen).of(seen.measured).time > most_estimated) return std::nullopt;

  const Fidelity fidelity = plan.fidelity == Fidelity::simgrid ? Fidelity::flow : plan.fidelity;
  const Outcome outcome = run_apart([&] { return simulate_paces(seen, fidelity); }, {},
                                    {.most_time = most_taken, .overdue = [](const RunningTask&) { return std::string("takes long"); }});
  if (!outcome.ok) return std::nullopt;  // the simulation of the point fails alike, and says why
  SeenPaces paces;
  std::istringstream numbers(outcome.result);
  numbers >> paces.steps_per_round;
  for (double step = 0.0; numbers >> step;) paces.step.emplace_back(step);
  paces.step.resize(at(plan.ranks), paces.step.front());  // one may stand for all
  return paces;
}

}  // namespace syncopate
