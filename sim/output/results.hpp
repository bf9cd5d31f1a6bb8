#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/document.hpp"
#include "output/row.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// A point that gave no result, and why.
struct FailedPoint {
  int point = 0;
  std::string error;
};

/// All that a run leaves behind.
struct Results {
  std::vector<Row> rows;  ///< finished points, in the order of their numbers
  std::vector<FailedPoint> failed;
  double wall_s = 0.0;  ///< how long the run took; neither in results.csv nor in results.json
  std::string simgrid_version;
};

/// results.csv: a header, then a row per finished point. Byte-identical for the same scenario and seed.
std::string results_csv(const Results& results);

/// results.json: the same with nesting, plus the scenario, versions, seed and the traces' provenance. Byte-identical likewise.
Json results_json(const Results& results, const Study& study);

/// The inputs of a study that are estimated, not measured.
struct Estimates {
  std::set<std::string> traces{};    ///< names of the files of synthetic ones
  std::set<std::string> clusters{};  ///< names of those with nominal links
  std::set<std::string> notes{};     ///< those of `notes` that say so of the links
};
Estimates estimates_of(const Study& study);

/// The sentences that every report of these results must show with its figures.
std::vector<std::string> notes(const Study& study, const std::vector<Row>& rows);

}  // namespace syncopate
