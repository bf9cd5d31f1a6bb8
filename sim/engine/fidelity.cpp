#include "engine/fidelity.hpp"

#include <algorithm>

namespace syncopate {

std::string_view to_string(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::alpha_beta: return "alpha-beta";
    case Fidelity::per_message: return "per-message";
    case Fidelity::flow: return "flow";
    case Fidelity::simgrid: return "simgrid";
  }
  return "?";
}

std::optional<Fidelity> fidelity_of(std::string_view name) {
  const auto* const found =
      std::find_if(fidelities.begin(), fidelities.end(), [&](Fidelity fidelity) { return to_string(fidelity) == name; });
  return found == fidelities.end() ? std::nullopt : std::optional(*found);
}

}  // namespace syncopate
