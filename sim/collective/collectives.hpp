#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.hpp"
#include "collective/cost.hpp"

namespace syncopate {

/// One row of the table of all-reduce algorithms.
struct Collective {
  std::string_view name;
  std::string_view meaning;
  CostShape cost;
  std::string_view caveat;  ///< what every report must say of its figures, or empty
};

/// The table: to add an algorithm, add a row (and its closed form's test).
std::span<const Collective> collectives();

/// Reads an algorithm's name (or an object with its `name`). `two-level`, with the algorithm `between` the nodes (ring), says
/// what holds of every algorithm where nodes have several GPUs. Throws InputError with the nearest name.
const Collective& read_collective(const Field& field);

}  // namespace syncopate
