#pragma once

#include <string>
#include <vector>

#include "output/row.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// The first sentences of a run: which choice of schedule and collective is fastest, by how much, what holds it back, how sure that is, and
/// which rivals are missing; then what swept numbers do. `rows`: of `study`, in the order of points.
std::vector<std::string> answer(const std::vector<Row>& rows, const Study& study);

}  // namespace syncopate
