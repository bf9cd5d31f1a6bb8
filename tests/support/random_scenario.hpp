#pragma once

#include <rapidcheck.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/document.hpp"
#include "metrics/metrics.hpp"
#include "scenario/scenario.hpp"
#include "schedule/schedules.hpp"

namespace syncopate::testing {

/// A scenario of a schedule with any of its declared parameters, on any cluster, with any workers. Draws inside a property of
/// rapidcheck, so that one for which the property is false becomes small.
Json draw_scenario(const ScheduleRow& row);

/// Reads a scenario without a sweep as a file would be.
Point read_point(const Json& scenario);

/// How far the times of two results are from each other, relative to the iteration.
double distance(const Metrics& a, const Metrics& b);

/// The scenario with rounding errors of the bandwidth, and with tiny ones of times. Where flows of many sizes contend for links, each one's
/// rate depends on when the others end, and from flow to flow an error grows.
std::vector<Json> with_rounding_errors(const Json& scenario);

/// Asserts a property for some drawn inputs, for more of them where SYNCOPATE_SLOW is set; for the same ones every time, unless RC_PARAMS
/// says otherwise (see rapidcheck's page on configuration).
template <class Property>
bool holds(const std::string& description, Property property) {
  setenv("RC_PARAMS", std::getenv("SYNCOPATE_SLOW") != nullptr ? "seed=1 max_success=1000" : "seed=1 max_success=250", 0);
  return rc::check(description, property);
}

}  // namespace syncopate::testing
