#pragma once

#include <string>
#include <vector>

#include "output/row.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// Whether a swept key is what one chooses, schedule or collective; else it is part of the setting.
bool is_choice(const std::string& pointer);

/// The choices of one setting: rivals.
struct Contest {
  std::vector<const Row*> ranked;  ///< those that have a result, at least one, the fastest first
  std::size_t choices = 0;         ///< with those that failed or did not run

  const Row& fastest() const { return *ranked.front(); }
  const Row& slowest() const { return *ranked.back(); }
  std::size_t missing() const { return choices - ranked.size(); }

  /// The fastest and what does not stand slower.
  std::vector<const Row*> winners() const;
  /// Some of these are not known to be as fast.
  bool is_undecided() const;
  /// The fastest that is slower than the winners; null where none is.
  const Row* runner_up() const;
  /// Where all winners are stale: the fastest that is not; else null.
  const Row* fastest_synchronous() const;
  /// It rests on draws of which nobody knows how sure they are.
  bool has_one_draw() const;
};

/// Those of a study that have a result, in the order of its points. `rows`: of `study`; they must outlive it.
std::vector<Contest> contests_of(const std::vector<Row>& rows, const Study& study);

}  // namespace syncopate
