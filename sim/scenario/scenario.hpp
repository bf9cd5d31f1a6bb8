#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/document.hpp"
#include "base/indexed.hpp"
#include "base/project_files.hpp"
#include "cluster/cluster.hpp"
#include "collective/algorithms.hpp"
#include "engine/fidelity.hpp"
#include "engine/simgrid/network_model.hpp"
#include "engine/worker/speed.hpp"
#include "goodput/long_run.hpp"
#include "schedule/schedule.hpp"
#include "trace/step_profile.hpp"
#include "trace/trace.hpp"

namespace syncopate {

inline constexpr int most_replicates = 1000;

struct Jobs;

/// At least `steps`, in whole cycles of a schedule.
inline std::int64_t whole_cycles(std::int64_t steps, int cycle) { return (steps + cycle - 1) / cycle * cycle; }

/// One simulation, with all inputs read and validated. For several jobs on one network, it is the first job.
struct Scenario {
  std::string name;
  std::shared_ptr<const Trace> trace;  ///< with its times multiplied by `trace_factor`
  double trace_factor = 1.0;
  Granularity granularity = Granularity::tensor;
  Cluster cluster;
  AllReduce all_reduce;
  std::optional<Fidelity> fidelity;  ///< empty: the simplest fidelity that is accurate enough
  SimGridModel simgrid{};            ///< of fidelity `simgrid`
  Schedule schedule;
  std::optional<int> channels;  ///< collectives in flight per stream; empty: the schedule's default
  Speed speed;
  std::optional<double> samples;  ///< per epoch
  std::optional<double> epochs;
  int warmup = 2;                ///< in whole cycles of the schedule
  int measured = 10;             ///< in whole cycles of the schedule
  bool chooses_window = false;   ///< `measured` is only where to begin: the file says neither how many iterations are measured nor `until`
  std::optional<double> until;   ///< continue until the 95% half-interval of the mean iteration time, relative to the mean, is at most this
  int replicates = 1;            ///< runs with different seeds
  std::optional<LongRun> run{};  ///< a run of days, with failures
  /// The same scenario with 1, 2, ... nodes less, as far as failures of `run` may go. Without `run`.
  std::shared_ptr<const std::vector<Scenario>> smaller{};
  std::shared_ptr<const Jobs> jobs{};  ///< the jobs on one network, this one first; null for a single job

  /// This scenario, or all of its jobs.
  std::vector<const Scenario*> trainings() const;
  /// Those of a training: its own, and those of workers that have another one.
  std::vector<const Trace*> traces() const;

  /// Whether the result depends on the seed.
  bool draws() const;
  /// Whether the measured iterations are a sample of a longer training: something is drawn, or no cycle need be like the one before it.
  bool is_sample() const;
  /// Whether something happens at given times: pauses, absences, links that change. A longer window would dilute it.
  bool has_events() const;
  /// The scenario with `nodes` nodes, as `run` may reach.
  const Scenario& of_nodes(int nodes) const { return nodes == cluster.nodes ? *this : (*smaller)[at(cluster.nodes - 1 - nodes)]; }
  /// Nodes of the cluster, nodes of dedicated parameter servers, and spares.
  int paid_nodes() const;
  /// Nodes that only servers are on.
  int server_nodes() const;
  /// Whether the window goes on until the mean is steady: with `until`, or where the file says nothing of the window.
  bool measures_until() const;
  /// Of the training, or of all jobs.
  int all_workers() const;
  /// Fixes how many iterations are measured of it, and of each of its jobs: `iterations`, in whole cycles of their schedules.
  void set_measured(int iterations);
  /// Maximum number of iterations that `until` may measure.
  int most_until() const;
};

/// A training job that shares a network with others.
struct SharingJob {
  std::string name;
  std::vector<int> nodes;  ///< of the network's cluster
  Seconds start;
  Scenario scenario;  ///< its cluster has nodes.size() nodes
};

/// Training jobs that share a network.
struct Jobs {
  Cluster cluster;  ///< the whole cluster
  std::vector<SharingJob> list;
};

/// One point of a sweep: the swept values, and the resulting scenario.
struct Point {
  int index = 0;
  std::vector<std::pair<std::string, Json>> sweep;  ///< pointer and value, in file order
  Scenario scenario;
  std::string digest{};  ///< of the scenario and its files; only if requested
  /// The first point that has the same result; itself if there is none before. Points differ in `all_reduce` where no schedule has
  /// collectives, or only in the names of cases.
  int same_as = 0;
};

/// A value for a JSON pointer of the scenario, from the command line.
struct Setting {
  std::string pointer;
  Json value;
  std::string option = "--set";  ///< the option that gave it, for messages
  bool is_list = false;          ///< `value` lists values: one is set, several are swept; of /schedule, what is swept inside goes
};

/// Parses `POINTER=JSON`, the argument of `--set`. Throws UsageError.
Setting parse_setting(const std::string& text);

/// A file that a study names, with its content.
struct InputFile {
  FileKind kind = FileKind::trace;
  std::string name;  ///< as the scenario names it
  std::string file;
  Json content;
};

/// A scenario file with its sweep expanded.
struct Study {
  std::string file;
  std::string name;
  std::uint64_t seed = 1;
  Json document;  ///< the scenario, with the settings applied
  std::vector<Setting> settings;
  std::vector<Point> points;
  std::vector<InputFile> inputs;  ///< all files that its points name
};

/// Reads a scenario/1 file and the traces and clusters that it names, applies `settings`, and expands the sweep. The points are the product
/// of the sweep's lists; the last pointer varies fastest. Every point is validated.
///
/// `name`: see named_file; "-" is stdin. Other files are relative to the scenario's folder, or to the current one. A setting at a swept
/// pointer fixes its value. `with_digests`: compute the points' digests. Throws InputError, or UsageError for an impossible setting.
Study read_study(const std::string& name, const std::vector<Setting>& settings = {}, bool with_digests = false);

/// Restores a study from its `document`, `settings` and `inputs`, with digests. Reads no files. Throws InputError.
Study restore_study(const Study& study);

}  // namespace syncopate
