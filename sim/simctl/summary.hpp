#pragma once

#include <string>
#include <vector>

#include "output/results.hpp"
#include "output/row.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// The values of a point's swept keys: "/cluster/nodes=8, /schedule=wfbp".
std::string swept_values(const Point& point, const char* separator);

/// What was simulated, in a few lines: the scenario, its traces with a mark for synthetic ones, what --set changed.
std::string describe_study(const Study& study);

/// The finished rows for people. Without a sweep a list of figures; a sweep of one key gives a line per value; of
/// several, tables of iteration time and efficiency with a column per schedule (else per collective, else per value of the
/// last key); rivals that win their line are marked *. `rows`: of `study`.
std::string summarise(const std::vector<Row>& rows, const Study& study);

/// Prints all of that, what it amounts to, and what must be said of it.
void print_study(const Results& results, const Study& study);

/// Prints where results are, and what makes a page of them.
void print_where(const std::string& folder);

}  // namespace syncopate
