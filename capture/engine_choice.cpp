#include "capture/engine_choice.hpp"

#include <limits>
#include <set>

namespace syncopate::capture {

std::optional<ChosenEngine> fastest_engine(const std::vector<EngineOffer>& offers, const EngineRules& rules, const BuildEngine& build,
                                           const TimeEngine& time) {
  std::optional<ChosenEngine> best;
  std::set<std::string> seen;
  std::size_t timed = 0;
  for (std::size_t i = 0; i < offers.size() && timed < EngineRules::most_timed; ++i) {
    const EngineOffer& offer = offers[i];
    if (offer.rounds_inputs || (offer.tensor_cores && !rules.tensor_cores) || !seen.insert(offer.name).second) continue;
    const std::optional<std::size_t> workspace = build(i);
    if (!workspace || *workspace > rules.workspace) continue;
    const std::optional<Seconds> taken = time(i, best ? best->time : Seconds(std::numeric_limits<double>::infinity()));
    if (!taken) continue;
    ++timed;
    if (!best || *taken < best->time) best = {i, *workspace, *taken};
  }
  return best;
}

}  // namespace syncopate::capture
