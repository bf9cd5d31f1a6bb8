#pragma once

#include <string_view>

namespace syncopate {

/// How bytes move (scenarios/FIDELITY.md): one event per collective, messages that have their links to themselves, or flows that
/// share links.
enum class Fidelity { alpha_beta, per_message, flow };

std::string_view to_string(Fidelity fidelity);

}  // namespace syncopate
