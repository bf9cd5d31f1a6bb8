#pragma once

#include <string>
#include <vector>

#include "output/row.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// What a run says first, in a sentence or two: which choice of schedule and collective is fastest, by how much, and what holds it back;
/// how sure that is, and which rivals are missing; then what swept numbers do. `rows`: of `study`, in the order of their points.
std::vector<std::string> answer(const std::vector<Row>& rows, const Study& study);

}  // namespace syncopate
