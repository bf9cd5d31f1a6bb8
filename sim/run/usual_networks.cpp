#include "run/usual_networks.hpp"

#include "run/replicates.hpp"

namespace syncopate {

bool has_range(const Scenario& scenario) {
  const bool is_one_simulation = !scenario.jobs && !scenario.run && replicates_of(scenario) == 1;
  return is_one_simulation && scenario.fidelity != Fidelity::simgrid && has_usual_share(scenario.cluster);
}

int networks_of(const Scenario& scenario) { return has_range(scenario) ? 3 : 1; }

bool shows_ranges(const Study& study) {
  constexpr std::size_t few = 12;
  return study.points.size() <= few;
}

}  // namespace syncopate
