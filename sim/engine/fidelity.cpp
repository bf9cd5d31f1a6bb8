#include "engine/fidelity.hpp"

namespace syncopate {

std::string_view to_string(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::alpha_beta: return "alpha-beta";
    case Fidelity::per_message: return "per-message";
    case Fidelity::flow: return "flow";
  }
  return "?";
}

}  // namespace syncopate
