#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/document.hpp"
#include "base/units.hpp"
#include "engine/fidelity.hpp"
#include "goodput/goodput.hpp"
#include "metrics/metrics.hpp"

namespace syncopate {

/// How one of several jobs on a network fares, per gradient step.
struct JobFigures {
  Seconds iteration;              ///< beside the others
  Seconds alone;                  ///< the same without them
  Seconds exposed_communication;  ///< beside the others
  double throughput = 0.0;        ///< likewise, samples/s of all its workers
};

/// What a point's simulation gives.
struct PointResult {
  Metrics metrics;
  /// Per gradient step: between nodes, and over the busiest link's busiest direction; unknown where no messages are simulated.
  std::optional<Bytes> network_bytes{};
  std::optional<Bytes> busiest_link_bytes{};
  Fidelity fidelity = Fidelity::alpha_beta;
  int workers_simulated = 0;
  int measured = 0;                  ///< iterations
  std::vector<double> replicates{};  ///< seconds per iteration of each one of which this is the mean; empty where it is one itself
  /// Half of the 95% interval of the mean iteration, over it; empty where nothing is drawn, or too little was measured to tell.
  std::optional<double> half_width{};
  std::optional<Goodput> goodput{};  ///< of the scenario's run, where it has one
  std::vector<JobFigures> jobs{};    ///< of all jobs, where there are several
  Json details = Json::object();     ///< what only some points have: see RESULTS.md
  std::string timeline{};            ///< a file's content, when wanted: see timeline_json
  std::string dataflow{};            ///< likewise: see Dataflow
  bool is_kept = false;              ///< in the run's folder already

  /// Throws SimulationError where a figure is no finite number, which it names.
  void require_finite() const;

  /// As bytes for another process of this program, and back.
  std::string pack() const;
  static PointResult unpack(const std::string& bytes);

  /// All that was simulated but these files, as JSON in a file, and back to the same bits. Throws Json::exception or InputError for what
  /// no result is written as.
  std::string to_text() const;
  static PointResult from_json(const Json& json);
};

}  // namespace syncopate
