#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "advise/threshold.hpp"
#include "base/document.hpp"

namespace syncopate {

/// An advice/1 file: what to choose among, by what, and for which target. scenarios/advice/README.md documents its keys.
struct Advice {
  enum class Objective { time, cost, pareto };

  /// A cluster, and how many of its nodes may be taken.
  struct Place {
    Json cluster;      ///< a path relative to the file, or a cluster/1 object
    std::string name;  ///< the cluster's
    std::vector<int> nodes;
    std::optional<double> price;  ///< of a node, per hour
  };
  struct Entry {
    Json schedule;                           ///< an object
    std::optional<double> samples_factor{};  ///< of this entry alone
  };
  /// A parameter that may be anything from one value to another.
  struct Tuned {
    std::string schedule;
    std::string parameter;
    ValueRange range;
  };
  struct Risk {
    std::optional<Json> workers;  ///< as a scenario has them
    int seeds = 5;
    double bandwidth = 0.2;  ///< by which share that between nodes may be more, or less
  };

  Document scenario;             ///< what all scenarios have in common: no cluster, no schedule
  std::filesystem::path folder;  ///< of the file
  std::vector<Place> places{};
  std::vector<Entry> schedules{};
  std::vector<std::string> needs_values{};  ///< schedules that "all" leaves out, as a parameter has neither default nor range
  std::vector<Tuned> tuned{};
  double samples = 0.0;
  Objective objective = Objective::time;
  std::map<std::string, double> samples_factor{};  ///< by schedule, of what does not train as synchronous SGD does
  std::optional<double> most_staleness{};
  std::optional<double> budget{};
  std::optional<double> deadline_h{};
  std::optional<Risk> risk{};
  std::uint64_t seed = 1;
};

/// Reads it; "-" is stdin, whose paths are the current folder's. What its schedules and clusters say is checked when these are simulated.
/// Throws InputError.
Advice read_advice(const std::filesystem::path& file);

}  // namespace syncopate
