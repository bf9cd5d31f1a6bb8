#pragma once

#include <string>
#include <vector>

#include "output/row.hpp"

namespace syncopate {

/// A sentence for each swept number that makes a difference. It compares the fastest point with most nodes and the largest value with the
/// same at the smallest value, by iteration time, or by samples per second if steps differ in samples. For the links' bandwidth it adds
/// what the busiest link carries. The number of nodes, the seed, and how much is simulated have no sentence.
std::vector<std::string> swept_effects(const std::vector<Row>& rows);

}  // namespace syncopate
