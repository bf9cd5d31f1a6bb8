#pragma once

#include <optional>

#include "base/fields.hpp"
#include "engine/fidelity.hpp"
#include "engine/simgrid/network_model.hpp"

namespace syncopate {

/// A scenario's `simgrid`. SimGrid itself judges the settings, in a process of its own. Throws InputError.
SimGridModel read_simgrid(const Field& field, const std::optional<Fidelity>& fidelity);

}  // namespace syncopate
