#pragma once

#include <string>
#include <vector>

#include "output/row.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// Whether a swept key is a choice (schedule or collective); else it is part of the setting.
bool is_choice(const std::string& pointer);

/// The choices of one setting: rivals.
struct Contest {
  std::vector<const Row*> ranked;  ///< at least one choice that has a result, the fastest first
  std::size_t choices = 0;         ///< also those that failed or did not run

  const Row& fastest() const { return *ranked.front(); }
  const Row& slowest() const { return *ranked.back(); }
  std::size_t missing() const { return choices - ranked.size(); }

  /// The fastest, and all that are not slower by `standing`.
  std::vector<const Row*> winners() const;
  /// A winner may be slower than the fastest: `Standing::undecided`.
  bool is_undecided() const;
  /// The fastest of those slower than the winners; null if there is none.
  const Row* runner_up() const;
  /// If all winners have staleness, the fastest choice without; else null.
  const Row* fastest_synchronous() const;
  /// Of a choice it is unknown how sure its mean is.
  bool has_unsure() const;
};

/// The contests of a study with at least one result, in the order of points. `rows`: of `study`; they must outlive the contests.
std::vector<Contest> contests_of(const std::vector<Row>& rows, const Study& study);

}  // namespace syncopate
