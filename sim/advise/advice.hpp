#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "advise/threshold.hpp"
#include "base/document.hpp"

namespace syncopate {

/// An advice/1 file: candidates, objective, target and limits. scenarios/advice/README.md documents its keys.
struct Advice {
  enum class Objective { time, cost, pareto };

  /// A cluster and the numbers of its nodes to consider.
  struct Place {
    Json cluster;      ///< a path relative to the file, or a cluster/1 object
    std::string name;  ///< the cluster's
    std::vector<int> nodes;
    std::optional<double> price;  ///< per node and hour
    Json hosts{};                 ///< of a platform that are nodes, for the cluster's key; else null
  };
  struct Entry {
    Json schedule;                           ///< an object
    std::optional<double> samples_factor{};  ///< for this entry only
  };
  /// A parameter to be tuned within a range.
  struct Tuned {
    std::string schedule;
    std::string parameter;
    ValueRange range;
  };
  struct Risk {
    std::optional<Json> workers;  ///< as in a scenario
    int seeds = 5;
    double bandwidth = 0.2;  ///< share by which the bandwidth between nodes may be higher or lower
  };

  Document scenario;             ///< the common part of all scenarios, without cluster and schedule
  std::filesystem::path folder;  ///< of the file
  std::vector<Place> places{};
  std::vector<Entry> schedules{};
  std::vector<std::string> needs_values{};  ///< SCHEDULE.PARAMETER without default and range; "all" leaves these schedules out
  std::vector<Tuned> tuned{};
  double samples = 0.0;
  Objective objective = Objective::time;
  std::map<std::string, double> samples_factor{};  ///< by schedule, for schedules that are not equivalent to synchronous SGD
  std::optional<double> most_staleness{};
  std::optional<double> budget{};
  std::optional<double> deadline_h{};
  std::optional<Risk> risk{};
  std::uint64_t seed = 1;
};

/// Reads an advice/1 file. "-" is stdin; its paths are relative to the current folder. Schedules and clusters are checked when they are
/// simulated. Throws InputError.
Advice read_advice(const std::filesystem::path& file);

}  // namespace syncopate
