#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.hpp"
#include "cluster/cluster.hpp"
#include "collective/closed_form.hpp"
#include "collective/communicator.hpp"
#include "dataflow/dataflow.hpp"
#include "engine/servers/exchange.hpp"
#include "engine/worker/worker.hpp"
#include "schedule/grouping.hpp"
#include "schedule/parameters.hpp"
#include "trace/step_profile.hpp"

namespace syncopate {

/// Who runs a schedule: every GPU, or every node, whose GPUs act as one.
enum class RankKind { gpu, node };

/// Where the ranks of a job are: rank i is on node i / ranks_per_node.
struct RankPlaces {
  int ranks = 1;
  int ranks_per_node = 1;
  std::vector<std::size_t> region_of_node;  ///< regions in the order of the cluster's file; empty without regions

  int nodes() const { return ranks / ranks_per_node; }
};

using Groups = std::vector<Communicator>;

/// All ranks together.
inline Groups everybody(const RankPlaces& places) { return {Communicator(places.ranks)}; }
/// The ranks of each node.
Groups each_node(const RankPlaces& places);
/// The ranks of each region, or all ranks without regions.
Groups each_region(const RankPlaces& places);
/// The first rank of each group, in the order of ranks, which on regions is the ring's order.
Communicator first_ranks(const Groups& groups);

/// The collectives of groups of ranks, each group on a stream of its own.
struct StreamTraffic {
  std::vector<Operation> operations = {Operation::all_reduce};
  StreamRules rules{};
  std::function<Groups(const RankPlaces&)> groups = everybody;
  bool follows = false;  ///< each collective begins when one of another stream has ended (PostOptions::after)
};

/// Messages from rank to rank.
struct PeerTraffic {
  int (*to)(int rank, int step, int ranks) = nullptr;  ///< whom a rank sends to in a step
  int (*period)(int ranks) = nullptr;                  ///< after how many steps that repeats
  bool drawn = false;                                  ///< it is random, so that several ranks may send to the same one at a time
};

/// Who sends what to whom. From this follow the fidelity that a simulation needs, whether equal ranks move in lock-step, and which clusters
/// suit the schedule; its program must keep to it. A program names a row of `streams` by its number, and posts to the stream of its group
/// in that row.
struct Traffic {
  RankKind ranks = RankKind::gpu;
  std::vector<StreamTraffic> streams{};
  std::optional<PeerTraffic> peers{};
  std::optional<ServerSetup> servers{};         ///< the schedule's servers, without links, which the cluster has
  std::optional<std::string> servers_region{};  ///< the region where all of them are

  bool has_collectives() const { return !streams.empty(); }
  bool has_partial_collectives() const;
};

/// One stream of all-reduces over all ranks, or of another operation: what most schedules send.
Traffic all_reduces(const StreamRules& rules = {}, Operation operation = Operation::all_reduce);

/// How a schedule goes on from iteration to iteration, and what its ranks wait for.
struct Pace {
  int cycle = 1;                    ///< iterations after which its pattern repeats; warm-up and measured ones are whole cycles
  int steps_before_warmup = 0;      ///< steps that are never measured
  int steps_per_round = 0;          ///< > 0: iterations are rounds, of at most so many steps
  int steps_per_update = 1;         ///< only the last of so many steps updates
  bool waits_for_all = false;       ///< every wait is for something that all ranks do, so that equal ranks move in lock-step
  bool updates_in_forward = false;  ///< what a step has computed enters the model during the next one's forward
  bool may_lose_ranks = false;      ///< a rank may leave, and come back
  bool waits_later = false;         ///< a rank waits for what it sent in earlier steps, which may queue up
  /// Every step applies the mean of that step's gradients of all ranks, as they are: what one worker with all their samples would do.
  bool is_sgd = false;
  bool is_lossy = false;        ///< what is sent is compressed
  bool servers_update = false;  ///< servers update the model, and keep the optimiser's state
  /// The time of an undisturbed worker's update at the end of a step; empty: the trace's.
  std::function<Seconds(const StepProfile&)> update{};
};

/// A push and its pull, when all clients do both at the same time.
struct PushPullCost {
  CostLine push;                ///< by the bytes that are sent, with the servers' work on them
  CostLine pull;                ///< by the bytes that are sent, with the servers' work on them
  CostLine within_node;         ///< by the bytes before compression
  double clients_per_server{};  ///< how many clients' pushes a server decodes ...
  double answers_per_server{};  ///< ... and how often it encodes an answer
};

/// What a schedule may know before it runs. There are at least two workers.
struct ScheduleInput {
  const StepProfile& profile;  ///< the undisturbed step, with the update of the schedule's pace
  Seconds update;              ///< the trace's update
  CostCurve collective;        ///< by bytes of the whole vector: first operation of the first stream, over the largest group
  PushPullCost push_pull;      ///< for schedules over servers
  int ranks = 1;
  Bytes value;          ///< size of one gradient value
  SecondsPerByte copy;  ///< time to copy into a merged buffer, or out of it
};

/// What a rank keeps of a training's state from step to step, as shares of the whole state.
struct KeptState {
  double parameters = 1.0;
  double gradients = 1.0;
  double optimizer = 1.0;
  double parameter_bytes = 1.0;                 ///< of parameters, per byte of the trace's gradients
  double reduce_bytes = 1.0;                    ///< of gradients, per byte of the trace's gradients
  double optimizer_bytes_per_parameter = 12.0;  ///< Adam's two moments and a copy of the parameters, in float32

  /// How much that is for a model whose gradients have `model` bytes in the trace, `value` for each.
  Bytes bytes(Bytes model, Bytes value) const {
    return (parameters * parameter_bytes + gradients * reduce_bytes) * model +
           optimizer * optimizer_bytes_per_parameter / value.value * model;
  }
};

/// A schedule whose parameters have been read and validated.
struct Schedule {
  std::string name{};
  Traffic traffic{};
  Pace pace{};
  bool groups_by_cost = false;                               ///< its program depends on input.collective
  std::string note{};                                        ///< what a report must say of the parameters ...
  std::function<std::string(const StepProfile&)> note_on{};  ///< ... and of how they suit a step; empty: nothing
  /// About how many collectives, messages or exchanges with servers a worker posts in a step on average; empty: one. `cost`: of a
  /// collective, for schedules that group by it.
  std::function<double(const StepProfile&, const CostCurve& cost)> posts{};
  std::function<Program(const ScheduleInput&)> program{};
  /// Of a schedule that all-reduces groups of gradients in every step: the groups, what a group costs by its bytes before compression, and
  /// the same schedule with other groups. Empty for others.
  std::function<Grouping(const ScheduleInput&)> groups{};
  std::function<CostCurve(const ScheduleInput&)> group_cost{};
  std::function<Schedule(const GroupingFunction&)> regrouped{};
  /// The parts of the model in a record of its dataflow; empty: the whole model is one part.
  std::function<std::vector<ModelPart>(const ScheduleInput&)> parts{};
  std::optional<KeptState> keeps{};  ///< empty: everything, without the optimiser's state where servers update
  std::string unrecorded{};          ///< why its dataflow cannot be recorded; empty where it can

  /// Whether no rank gets far ahead of the slowest one. Where a rank waits for a share of the ranks it may, though equal ranks move in
  /// lock-step.
  bool waits_for_slowest() const { return pace.waits_for_all && !traffic.has_partial_collectives(); }

  /// Whether all ranks have finished what they sent by the end of a cycle, so that undisturbed cycles are alike.
  bool repeats() const { return waits_for_slowest() && !pace.waits_later && pace.steps_per_round == 0 && !traffic.peers; }

  /// Whether it trains as synchronous SGD does. A single worker does where it updates in every step and compresses nothing.
  bool trains_as_sgd(int workers) const { return pace.is_sgd || (workers == 1 && pace.steps_per_update == 1 && !pace.is_lossy); }
};

/// One row of the table of schedules: all that is known of a schedule without values of its parameters.
struct ScheduleRow {
  std::string_view name;
  std::string_view meaning;
  std::string_view paper;
  std::vector<ParameterInfo> parameters;
  std::function<Schedule(Object& fields, const Cluster& cluster)> read;
};

/// Declares a schedule: a struct whose members are its parameters, with
///
///     void declare(Parameters&);                             its parameters
///     Traffic traffic() const;                               who sends what to whom
///     Pace pace() const;                                     how it goes on
///     Program program(const ScheduleInput&) const;           what every rank does
///     void place(const Cluster&);                            if what it is depends on the cluster; called before all that follows
///     void check(Object&, const Cluster&) const;             if its parameters must suit each other, or the cluster; throws InputError
///     bool groups_by_cost() const;                           if its program depends on input.collective
///     std::string note() const;                              if a report must say something of the parameters
///     std::string note_on(const StepProfile&) const;         if it must of how they suit a step
///     KeptState keeps() const;                               if a rank does not keep all of the training's state
///     double posts(const StepProfile&) const;                if a worker does not post once in a step
///     std::vector<ModelPart> parts(const ScheduleInput&) const;  if its model may move in parts; one where it does not
///     std::string unrecorded() const;                        if a record of the dataflow cannot say all that it does
template <class Declared>
ScheduleRow declare_schedule(std::string_view name, std::string_view meaning, std::string_view paper, const Declared& defaults = {}) {
  ParameterList parameters;
  Declared(defaults).declare(parameters);
  const auto read = [defaults](Object& fields, const Cluster& cluster) {
    Declared declared = defaults;
    ParameterReader reader(fields);
    declared.declare(reader);
    if constexpr (requires { declared.place(cluster); }) declared.place(cluster);
    if constexpr (requires { declared.check(fields, cluster); }) declared.check(fields, cluster);
    Schedule schedule = {.traffic = declared.traffic(), .pace = declared.pace()};
    if constexpr (requires { declared.groups_by_cost(); }) schedule.groups_by_cost = declared.groups_by_cost();
    if constexpr (requires { declared.note(); }) schedule.note = declared.note();
    if constexpr (requires(const StepProfile& profile) { declared.note_on(profile); }) {
      schedule.note_on = [declared](const StepProfile& profile) { return declared.note_on(profile); };
    }
    if constexpr (requires { declared.keeps(); }) schedule.keeps = declared.keeps();
    if constexpr (requires(const StepProfile& profile) { declared.posts(profile); }) {
      schedule.posts = [declared](const StepProfile& profile, const CostCurve&) { return declared.posts(profile); };
    }
    if constexpr (requires(const ScheduleInput& input) { declared.parts(input); }) {
      schedule.parts = [declared](const ScheduleInput& input) { return declared.parts(input); };
    }
    if constexpr (requires { declared.unrecorded(); }) schedule.unrecorded = declared.unrecorded();
    schedule.program = [declared](const ScheduleInput& input) { return declared.program(input); };
    return schedule;
  };
  return {name, meaning, paper, parameters.list, read};
}

/// The program of a single worker, which has nothing to communicate: its step is compute only, and is a round where the schedule has
/// rounds. `update`: the time of an update, in the steps that have one.
Program single_worker(const Pace& pace, Seconds update);

/// Reads a scenario's `schedule` object. Throws InputError, also when the schedule does not suit the cluster.
Schedule read_schedule(const Field& field, const Cluster& cluster);

}  // namespace syncopate
