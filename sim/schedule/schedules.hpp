#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/fields.hpp"
#include "cluster/costs.hpp"
#include "collective/cost.hpp"
#include "engine/simulate.hpp"
#include "engine/worker.hpp"
#include "trace/step_profile.hpp"

namespace syncopate {

/// What a schedule may know before it runs. There are at least two workers.
struct ScheduleInput {
  const StepProfile& profile;  ///< the undisturbed step
  CostLine all_reduce;         ///< over all ranks
  CostLine push_pull;          ///< a push and its pull, when all clients do so at once; schedules over servers only
  int ranks = 1;
  Bytes value;  ///< size of one gradient value
};

/// A schedule whose parameters have been read and validated.
struct Schedule {
  std::string name;
  std::function<Program(const ScheduleInput&)> make;
  RankKind ranks = RankKind::gpu;
  int cycle = 1;                       ///< iterations after which its pattern repeats; warm-up and measured ones are whole cycles
  bool waits_for_all = false;          ///< every wait is for something that all ranks do, so that equal ranks move in lock-step
  bool waits_later = false;            ///< for all-reduces of earlier steps, so that these may queue up
  StreamRules stream;                  ///< of its all-reduces
  std::optional<ServerSetup> servers;  ///< as the schedule wants them; the links are the cluster's
  bool groups_by_cost = false;         ///< it needs to know the all-reduce as a line
  bool gathers = false;                ///< its collectives are all-gathers
  bool all_reduces = true;             ///< else the algorithm of the all-reduce, a fit and latency_cv do not matter to it
  std::optional<Seconds> update;       ///< of a worker, at the end of a step; else the trace's
  int steps_before_warmup = 0;         ///< that are never measured
  int steps_per_round = 0;             ///< > 0: iterations are rounds, of at most so many steps
};

/// One row of the table of schedules.
struct ScheduleRow {
  std::string_view name;
  std::string_view meaning;
  std::string_view parameters;  ///< for people: name, default
  Schedule (*read)(Object& fields, const Cluster& cluster);
};

/// What "(servers)" stands for among the parameters of a schedule over parameter servers.
constexpr std::string_view server_parameters = "servers (1), colocated (false), server_s_per_B (0), duplex (true)";

/// The table: to add a schedule, write its file and add a row.
std::span<const ScheduleRow> schedules();

/// Reads a scenario's `schedule` object. Throws InputError, also when the schedule does not suit the cluster.
Schedule read_schedule(const Field& field, const Cluster& cluster);

/// A single worker has nothing to communicate; its step is compute only, and a round.
Program single_worker(bool counts_rounds);

}  // namespace syncopate
