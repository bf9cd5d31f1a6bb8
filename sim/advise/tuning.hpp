#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "advise/threshold.hpp"
#include "base/json.hpp"

namespace syncopate {

/// Looks for the values of a schedule's parameters with which something is least within limits: of several, it begins at the best of a grid
/// of few values each; then, one parameter after the other until none improves it, some values of its range, and a golden-section search
/// between the neighbours of the best.
class Tuning {
 public:
  using Values = std::vector<std::int64_t>;  ///< a step of each parameter's range

  /// How good values are: within the limits at all, then by what is to be least.
  struct Worth {
    double excess = std::numeric_limits<double>::infinity();  ///< over the limits; infinite: the values are not possible
    double value = std::numeric_limits<double>::infinity();

    auto operator<=>(const Worth&) const = default;
    bool is_possible() const { return excess < std::numeric_limits<double>::infinity(); }
  };

  explicit Tuning(std::vector<ValueRange> ranges);

  /// What it wants to know about next, and has not asked for yet; none when it is over.
  const std::vector<Values>& wanted() const { return wanted_; }
  /// What has been asked for, all of it known now.
  void learn(const std::map<Values, Worth>& worths);

  /// The values as a scenario has them.
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
  std::size_t parameter_ = 0;   ///< that is being looked at
  std::size_t unimproved_ = 0;  ///< parameters in a row
  Worth before_;                ///< the best before this parameter's turn
  bool narrows_ = false;        ///< golden section, between low_ and high_
  std::int64_t low_ = 0;
  std::int64_t high_ = 0;
};

}  // namespace syncopate
