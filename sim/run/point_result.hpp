#pragma once

#include <string>
#include <vector>

#include "base/document.hpp"
#include "output/point_figures.hpp"

namespace syncopate {

/// What the simulation of a point gives.
struct PointResult : PointFigures {
  std::vector<JobFigures> jobs{};  ///< of all jobs; empty if there is only one
  std::string timeline{};          ///< the content of a file, if wanted: see timeline_json
  std::string dataflow{};          ///< likewise: see Dataflow
  bool is_kept = false;            ///< in the run's folder already

  /// Throws SimulationError, which names the figure, if one is no finite number.
  void require_finite() const;

  /// As bytes for another process of this program, and back.
  std::string pack() const;
  static PointResult unpack(const std::string& bytes);

  /// All but the files, and back to the same bits. Throws Json::exception or InputError for what is no result.
  Json to_json() const;
  static PointResult from_json(const Json& json);
};

}  // namespace syncopate
