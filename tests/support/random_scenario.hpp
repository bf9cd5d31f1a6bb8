#pragma once

#include <random>
#include <string>
#include <vector>

#include "base/document.hpp"
#include "scenario/scenario.hpp"
#include "schedule/schedules.hpp"

namespace syncopate::testing {

/// Draws one scenario after another from a seed: every schedule with any of its declared parameters, on any cluster, with any workers.
class RandomScenarios {
 public:
  explicit RandomScenarios(unsigned seed) : random_(seed) {}

  Json draw(const ScheduleRow& row);

 private:
  int whole(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  double number(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  bool chance(double probability) { return number(0.0, 1.0) < probability; }
  const std::string& any(const std::vector<std::string>& names);

  Json value(const ParameterInfo& parameter, int nodes);
  Json schedule(const ScheduleRow& row, int nodes);
  Json cluster(int nodes);
  Json topology();
  Json workers(int count);

  std::mt19937 random_;
};

/// Reads a scenario without a sweep as a file would be.
Point read_point(const Json& scenario);

}  // namespace syncopate::testing
