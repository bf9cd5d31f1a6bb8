#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/document.hpp"
#include "base/project_files.hpp"
#include "cluster/cluster.hpp"
#include "collective/algorithms.hpp"
#include "engine/fidelity.hpp"
#include "engine/worker/speed.hpp"
#include "goodput/long_run.hpp"
#include "schedule/schedule.hpp"
#include "trace/step_profile.hpp"
#include "trace/trace.hpp"

namespace syncopate {

inline constexpr int most_replicates = 1000;

struct Jobs;

/// One simulation, all of whose inputs have been read and validated. Of several jobs on one network it is the first one.
struct Scenario {
  std::string name;
  std::shared_ptr<const Trace> trace;
  Granularity granularity = Granularity::tensor;
  Cluster cluster;
  AllReduce all_reduce;
  std::optional<Fidelity> fidelity;  ///< else the one that is deep enough
  Schedule schedule;
  std::optional<int> channels;  ///< collectives in flight at a time on each stream; else what the schedule says
  Speed speed;
  std::optional<double> samples;  ///< of an epoch
  std::optional<double> epochs;
  int warmup = 2;                ///< whole cycles of the schedule
  int measured = 10;             ///< likewise
  std::optional<double> until;   ///< measure more until the iteration's mean is known so well: half its 95% interval over it
  int replicates = 1;            ///< with other seeds
  std::optional<LongRun> run{};  ///< of days, with failures
  /// The same with a node less, two less, ..., as many as a failure of the run may leave; without `run`.
  std::shared_ptr<const std::vector<Scenario>> smaller{};
  std::shared_ptr<const Jobs> jobs{};  ///< on one network, of which it is the first; null where it is alone

  /// It, or each of its jobs.
  std::vector<const Scenario*> trainings() const;

  /// Another seed gives another result.
  bool draws() const;
  /// With so many of its nodes, which a run may come to.
  const Scenario& of_nodes(int nodes) const {
    return nodes == cluster.nodes ? *this : (*smaller)[static_cast<std::size_t>(cluster.nodes - 1 - nodes)];
  }
  /// Of the cluster, of parameter servers that have nodes of their own, and spares.
  int paid_nodes() const;
  /// It has an `until`, and something to be known better.
  bool measures_until() const { return until && draws(); }
  /// Iterations that `until` measures at most.
  int most_until() const;
};

/// A training job beside others.
struct SharingJob {
  std::string name;
  std::vector<int> nodes;  ///< of the network's cluster
  Seconds start;
  Scenario scenario;  ///< on a cluster of so many nodes
};

/// Training jobs that share a network.
struct Jobs {
  Cluster cluster;  ///< all of it
  std::vector<SharingJob> list;
};

/// One point of a sweep: the values put at the swept pointers and the scenario that results.
struct Point {
  int index = 0;
  std::vector<std::pair<std::string, Json>> sweep;  ///< pointer and value, in file order
  Scenario scenario;
  std::string digest{};  ///< of all that its simulation depends on, scenario and files; where asked for
};

/// A value for a JSON pointer of the scenario, from the command line.
struct Setting {
  std::string pointer;
  Json value;
  std::string option = "--set";  ///< that gave it, for messages
};

/// Parses `POINTER=JSON`, as `--set` takes it. Throws UsageError.
Setting parse_setting(const std::string& text);

/// A file that a study names, as it was read.
struct InputFile {
  FileKind kind = FileKind::trace;
  std::string name;  ///< in the scenario
  std::string file;
  Json content;
};

/// A scenario file with its sweep expanded.
struct Study {
  std::string file;
  std::string name;
  std::uint64_t seed = 1;
  Json document;  ///< the scenario as read, after the settings
  std::vector<Setting> settings;
  std::vector<Point> points;
  std::vector<InputFile> inputs;  ///< that its points name
};

/// Reads a scenario/1 file, as named_file finds it ("-" is stdin), the traces and clusters that it names (relative to it, or to the current
/// folder), applies `settings` and expands the sweep: the product of its lists, the last pointer varying fastest. Every point is validated.
/// A setting at a swept pointer pins it to that one value. `with_digests`: of the points. Throws InputError, or UsageError for a setting
/// that cannot be.
Study read_study(const std::string& name, const std::vector<Setting>& settings = {}, bool with_digests = false);

/// The same study again, with digests, from its `document`, `settings` and `inputs`, without reading a file. Throws InputError.
Study restore_study(const Study& study);

}  // namespace syncopate
