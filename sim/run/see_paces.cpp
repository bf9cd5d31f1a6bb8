#include <algorithm>
#include <cmath>

#include "base/errors.hpp"
#include "base/indexed.hpp"
#include "run/run_counts.hpp"

namespace syncopate {

std::optional<SeenPaces> see_paces(const Scenario& scenario, const RunPlan& plan) {
  constexpr double most_moves = 200'000.0;  // tenths of a second
  const Pace& pace = scenario.schedule.pace;
  const bool has_rounds = pace.steps_per_round > 0;
  if (plan.ranks == 1 || (!has_rounds && (plan.simulated == 1 || scenario.schedule.waits_for_slowest()))) return std::nullopt;
  Scenario seen = scenario;
  seen.chooses_window = false;
  seen.warmup = seen.measured = pace.cycle;
  seen.speed.pauses.clear();
  const RunCounts& counts = plan.counts;
  const double moves = counts.steps + counts.posts + counts.messages + counts.flows;
  if (moves * steps_of(seen) / steps_of(scenario) > most_moves) return std::nullopt;

  SeenPaces paces;
  double steps = 0.0;
  double rounds = 0.0;
  try {
    Setup setup(seen, {.most_steps = most_moves * counts.steps / moves});
    const Fidelity fidelity = plan.fidelity == Fidelity::simgrid ? Fidelity::flow : plan.fidelity;
    const Timeline timeline = simulate({setup.job(fidelity)}, setup.network());
    for (const std::vector<Step>& of_worker : timeline.front().steps) {
      const auto count = static_cast<double>(of_worker.size());
      if (count == 0.0 || of_worker.back().end <= Seconds(0) || !std::isfinite(of_worker.back().end.value)) return std::nullopt;
      paces.step.push_back(of_worker.back().end / count);
      steps += count;
      rounds += static_cast<double>(std::ranges::count_if(of_worker, [](const Step& step) { return step.mixed_after > 0; }));
    }
  } catch (const SimulationError&) {  // the simulation of the point throws it again, and says why
    return std::nullopt;
  }
  paces.step.resize(at(plan.ranks), paces.step.front());  // one may stand for all
  if (has_rounds) paces.steps_per_round = std::clamp(steps / std::max(1.0, rounds), 1.0, static_cast<double>(pace.steps_per_round));
  return paces;
}

}  // namespace syncopate
