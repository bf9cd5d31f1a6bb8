#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/document.hpp"
#include "goodput/goodput.hpp"
#include "metrics/metrics.hpp"

namespace syncopate {

/// One of several jobs on a network.
struct JobRow {
  std::string name;
  std::string model;
  std::string schedule;
  std::vector<int> nodes;
  int workers = 0;
  Seconds start;
  Seconds iteration;  ///< beside the others
  Seconds alone;
  Seconds exposed_communication;  ///< beside the others
  double throughput = 0.0;        ///< likewise

  double slowdown() const { return iteration / alone; }
};

/// One finished point: what was simulated and what came out.
struct Row {
  int point = 0;
  std::vector<std::pair<std::string, Json>> sweep;  ///< pointer and value
  std::string model;
  std::string cluster;
  std::string schedule;
  std::string all_reduce;
  bool all_reduces = true;  ///< the schedule does use that algorithm
  std::string fidelity;
  int nodes = 0;
  int workers = 0;
  std::int64_t batch = 0;
  Metrics metrics;
  bool draws = false;                         ///< another seed gives another row
  std::optional<Interval> interval{};         ///< the iteration's 95% interval, where something is drawn and that is enough to tell
  std::vector<Seconds> replicates{};          ///< the iteration of each, by their seeds, where there are several
  std::optional<Bytes> network_bytes{};       ///< per gradient step, where messages are simulated
  std::optional<Bytes> busiest_link_bytes{};  ///< likewise
  std::optional<Seconds> epoch{};             ///< where the scenario says how many samples it has
  std::optional<Seconds> total{};             ///< and how many epochs there are; of the run, where there is one
  std::optional<Goodput> goodput{};           ///< of a run with failures and checkpoints, where there is one
  std::optional<double> cost{};               ///< of that, where nodes have a price
  std::optional<Rate> bus_bandwidth{};        ///< of what sends nothing but all-reduces
  Bytes states{};                             ///< that a rank keeps: parameters, gradients, the optimiser's
  std::vector<JobRow> jobs{};                 ///< that share the network, where there are several; the first is the row's own
  int measured_iterations = 0;
  int workers_simulated = 0;
  Json details = Json::object();  ///< what only some points have; in results.json only

  /// Of the job that the others hold up most; needs jobs.
  double largest_slowdown() const;
  /// Jain's index of how far each job gets beside the others, as a share of what it does alone; needs jobs.
  double jain() const;

  /// Half of the interval over the iteration; 0 where there is none.
  double half_width() const { return interval ? interval->end / metrics.iteration - 1.0 : 0.0; }
  /// Nobody knows how far another draw would be from it.
  bool is_one_draw() const { return draws && !interval; }
};

/// One column of the results; RESULTS.md beside this file documents each, and a test compares the two.
struct Column {
  std::string_view name;
  Json (*value)(const Row& row);
};

/// All columns but those of the swept pointers, which stand after `point`.
std::span<const Column> columns();

/// The row as an object of results.json: every column by its name, the swept values in `sweep`, and its details.
Json to_json(const Row& row);

}  // namespace syncopate
