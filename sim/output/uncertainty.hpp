#pragma once

#include <set>
#include <string>
#include <vector>

#include "output/row.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// What is drawn and not known well, and what would make it known, a sentence each.
std::set<std::string> notes_of_uncertainty(const Study& study, const std::vector<Row>& rows);

}  // namespace syncopate
