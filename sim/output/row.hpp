#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/document.hpp"
#include "output/point_figures.hpp"
#include "timeline/timeline.hpp"

namespace syncopate {

/// One of several jobs on a network: what it is and what came out.
struct JobRow : JobFigures {
  std::string name{};
  std::string model{};
  std::string schedule{};
  std::vector<int> nodes{};
  int workers = 0;
  Seconds start{};

  double slowdown() const { return iteration / alone; }
};

/// One finished point: what was simulated and what came out.
struct Row : PointFigures {
  int point = 0;
  std::vector<std::pair<std::string, Json>> sweep{};  ///< pointer and value
  std::string model{};
  std::string cluster{};
  std::string schedule{};
  std::string all_reduce{};
  bool all_reduces = true;  ///< the schedule does use that algorithm
  int nodes = 0;
  int workers = 0;
  std::int64_t batch = 0;
  bool is_sample = false;               ///< another seed, or other iterations, give another row
  std::optional<Interval> interval{};   ///< the 95% interval of the mean iteration; empty like iteration_half
  std::optional<Seconds> epoch{};       ///< empty if the scenario does not say how many samples it has
  std::optional<Seconds> total{};       ///< of all epochs, or of the run; empty if the scenario has neither
  std::optional<double> cost{};         ///< of that; empty if nodes have no price
  std::optional<Rate> bus_bandwidth{};  ///< empty for schedules that send anything but all-reduces
  Bytes states{};                       ///< that a rank keeps: parameters, gradients, the optimiser's
  std::vector<JobRow> jobs{};           ///< the jobs that share the network, the row's own first; empty if there is only one

  /// Of the job with the largest; needs jobs.
  double largest_slowdown() const;
  /// Jain's index of the jobs' speeds, each as a share of the job's speed alone; needs jobs.
  double jain() const;

  /// Half of the interval, as a share of the iteration; 0 if there is none.
  double half_width() const { return interval ? interval->end / metrics.iteration - 1.0 : 0.0; }
  /// The row is a sample, and it is unknown how far from it another one would be.
  bool is_unsure() const { return is_sample && !interval; }
  /// The same of the job that is known least.
  double widest_half() const;
  using MissedEvent = std::tuple<std::string, double, int>;  ///< what, when, how many
  /// The scripted events that its window leaves out.
  std::set<MissedEvent> missed_events() const;
};

/// The row as an object of results.json: every figure by its name, the swept values in `sweep`, and its details.
Json to_json(const Row& row);

}  // namespace syncopate
