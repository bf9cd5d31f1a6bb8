#pragma once

#include <string>
#include <vector>

#include "output/row.hpp"

namespace syncopate {

/// What swept numbers do, a sentence for each that does anything: how much faster or slower, by samples per second where a step has other
/// samples, the fastest with most nodes and the largest value is than the same with the smallest value; of the links' bandwidth, how much
/// its busiest one carries. The number of nodes, and what says how long and how often to simulate, have none.
std::vector<std::string> swept_effects(const std::vector<Row>& rows);

}  // namespace syncopate
