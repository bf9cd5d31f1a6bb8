#include "run/measured_window.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "metrics/metrics.hpp"

namespace syncopate {

namespace {

constexpr double default_half_width = 0.005;
constexpr int enough_iterations = 100;
constexpr int most_iterations = 5000;
constexpr Seconds cheap(0.05);
constexpr Seconds affordable(1.0);

}  // namespace

WindowLengths window_lengths(const Scenario& scenario, const std::function<Seconds()>& each) {
  const int cycle = scenario.schedule.pace.cycle;
  int longest_cycle = cycle;
  for (const Scenario* training : scenario.trainings()) longest_cycle = std::max(longest_cycle, training->schedule.pace.cycle);
  const int slices = enough_slices * longest_cycle;
  if (scenario.until) {
    const int most = scenario.most_until();
    return {scenario.measured, std::min(most, slices), most, *scenario.until};
  }
  const Seconds iteration = each();
  const auto fitting = [&](Seconds time) { return time / iteration - scenario.warmup - scenario.schedule.pace.steps_before_warmup; };
  const auto most = std::clamp<double>(fitting(affordable), scenario.measured, std::max(most_iterations, slices));
  const auto fewest = std::max<double>({enough_iterations, static_cast<double>(slices), fitting(cheap)});
  const auto in_cycles = [&](double iterations) { return static_cast<int>(whole_cycles(std::llround(std::ceil(iterations)), cycle)); };
  const int first = in_cycles(std::min(fewest, most));
  // Replicates tell how well the mean is known.
  const double half_width = scenario.draws() && scenario.replicates > 1 ? std::numeric_limits<double>::infinity() : default_half_width;
  return {first, first, std::max(first, in_cycles(most)), half_width};
}

}  // namespace syncopate
