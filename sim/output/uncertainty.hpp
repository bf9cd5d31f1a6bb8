#pragma once

#include <set>
#include <string>
#include <vector>

#include "output/row.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// A sentence for each mean that is random and not known well, with what would make it known.
std::set<std::string> notes_of_uncertainty(const Study& study, const std::vector<Row>& rows);

}  // namespace syncopate
