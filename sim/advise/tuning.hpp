#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "advise/threshold.hpp"
#include "base/json.hpp"

namespace syncopate {

/// Minimises a measure over a schedule's parameters, within limits:
/// 1. With several parameters, it starts at the best point of a coarse grid.
/// 2. For one parameter after the other it tests samples of the range, then runs a golden-section search between the neighbours of the
///    best one. It ends when no parameter improves the result.
class Tuning {
 public:
  using Values = std::vector<std::int64_t>;  ///< a step of each parameter's range

  /// Rank of values, less is better: first the excess over the limits, then the measure.
  struct Worth {
    double excess = std::numeric_limits<double>::infinity();  ///< over the limits; infinite: the values are not possible
    double value = std::numeric_limits<double>::infinity();

    auto operator<=>(const Worth&) const = default;
    bool is_possible() const { return excess < std::numeric_limits<double>::infinity(); }
  };

  explicit Tuning(std::vector<ValueRange> ranges);

  /// The values to test next. Empty when the search is over.
  const std::vector<Values>& wanted() const { return wanted_; }
  /// Takes the answers for all wanted values.
  void learn(const std::map<Values, Worth>& worths);

  /// The values for a scenario.
  std::vector<Json> as_json(const Values& values) const;

 private:
  const Worth& at(std::int64_t step) const;
  Values with(std::int64_t step) const;
  void ask_grid();
  void ask(const std::vector<std::int64_t>& steps);
  void next_parameter();
  void narrow();

  std::vector<ValueRange> ranges_;
  std::map<Values, Worth> known_;
  std::vector<Values> wanted_;
  Values best_;
  std::size_t parameter_ = 0;   ///< index of the current parameter
  std::size_t unimproved_ = 0;  ///< number of parameters in a row without improvement
  Worth before_;                ///< the best before this parameter's turn
  bool narrows_ = false;        ///< golden section, between low_ and high_
  std::int64_t low_ = 0;
  std::int64_t high_ = 0;
};

}  // namespace syncopate
