#pragma once

#include <string>
#include <vector>

#include "output/row.hpp"

namespace syncopate {

/// Relative differences of throughput that no choice should rest on.
inline constexpr double practically_equal = 0.005;

/// Whether it is as fast as the fastest of its rivals: within `practically_equal`, or its interval reaches into that one's.
bool ties_with(const Row& row, const Row& fastest);

/// "asgd (staleness 7.2)": a schedule is never called fastest without what that may cost.
std::string with_staleness(const std::string& name, const Row& row);

/// What a run says first, in a sentence or two: which choice of schedule and collective is fastest, by how much, and what holds it back.
/// `rows` in the order of their points.
std::vector<std::string> answer(const std::vector<Row>& rows);

}  // namespace syncopate
