#pragma once

#include <optional>
#include <string>
#include <vector>

#include "output/results.hpp"
#include "output/row.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// The values of a point's swept keys: "/cluster/nodes=8, /schedule=wfbp".
std::string swept_values(const Point& point, const char* separator);

/// The only point, or the one with that `number`, which `option` gave. `scenario`: as the command line names it. Throws UsageError, which
/// lists the points.
const Point& chosen_point(const Study& study, const std::string& scenario, const char* option, const std::optional<std::string>& number);

/// A few lines about the study: the scenario, its traces, values changed by --set. Synthetic traces are marked; at a terminal, a line that
/// comes once a day (caveat_of_today) says what is estimated.
std::string describe_study(const Study& study);

/// The finished rows of `study` for people:
/// - without a sweep, a list of figures;
/// - for a sweep of one key, a line per value;
/// - for several keys, tables of iteration time and efficiency with a column per schedule (else per collective, else per value of the last
///   key). The fastest schedule or collective of a line is marked *.
std::string summarise(const std::vector<Row>& rows, const Study& study);

/// Prints the description, the summary, the conclusions and the notes; at a terminal without those that caveat_of_today stands for.
void print_study(const Results& results, const Study& study);

/// Prints where the results are, and the command that makes a page of them.
void print_where(const std::string& folder);

}  // namespace syncopate
