#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace syncopate {

/// How bytes move (scenarios/FIDELITY.md): one event per collective, messages that have their links to themselves, flows that share links,
/// or communications in SimGrid.
enum class Fidelity { alpha_beta, per_message, flow, simgrid };

inline constexpr std::array fidelities = {Fidelity::alpha_beta, Fidelity::per_message, Fidelity::flow, Fidelity::simgrid};

/// Messages that meet share links.
constexpr bool shares_links(Fidelity fidelity) { return fidelity == Fidelity::flow || fidelity == Fidelity::simgrid; }

std::string_view to_string(Fidelity fidelity);

/// The fidelity of this name; empty if there is none.
std::optional<Fidelity> fidelity_of(std::string_view name);

}  // namespace syncopate
