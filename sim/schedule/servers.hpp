#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "cluster/network.hpp"
#include "engine/servers/exchange.hpp"
#include "schedule/compression.hpp"
#include "schedule/grouping.hpp"
#include "schedule/posts.hpp"
#include "schedule/schedule.hpp"
#include "schedule/sender.hpp"

namespace syncopate {

/// Servers that make a step along the mean of what all clients have pushed in a round.
constexpr ServerRule synchronous_rule = {
    .sums_rounds = true, .handle = [](Replica& x, const Values& mean, const Values& /*seen*/, int /*clients*/) { x.step(mean); }};

/// The parameters that all schedules over parameter servers have in common.
struct ServerParameters {
  int servers = 1;
  std::optional<double> share;  ///< servers per node, in place of their number
  std::optional<std::string> region;
  bool colocated = false;
  SecondsPerByte work;
  bool duplex = true;
  bool on_request = false;
  bool overlaps = false;
  Service service = Service::shared;
  bool pipelined = true;
  Compression compression{};

  void declare(Parameters& parameters);
  /// Declares those that say how many servers there are, where, and their time for a byte.
  void declare_places(Parameters& parameters);
  /// Derives the number of servers from their share of the nodes: rounded, at least 1.
  void place(const Cluster& cluster);
  /// Throws InputError where the parameters do not suit each other.
  void check(Object& fields, const Cluster& cluster) const;
  /// Traffic whose ranks are nodes, without collectives. `asynchronous`: clients do not wait for each other. `rule`: what servers do to the
  /// model.
  Traffic traffic(bool asynchronous, const ServerRule& rule) const;
  /// The cost of a push and its pull by the bytes of the message, with which merging schedules reckon (MG-WFBP, Sec. 4.3).
  CostLine cost(const ScheduleInput& input) const;

 private:
  void read_number(const Field& field, Integers numbers);
};

/// A message to the servers and back, with a client's times for it.
class ServerPost {
 public:
  ServerPost(const ServerParameters& servers, const SharedPayload& whole, Bytes value);

  /// Encodes and pushes the message.
  Exchange push(Worker& worker, int round, Answer answer, PushOptions options) const;
  Exchange pull(Worker& worker, int round) const { return worker.servers().pull(whole_, round, as_pulled_); }
  /// The worker joins the sum of all clients' pushes. `value`: the parts that it will pull.
  Exchange join(Worker& worker, int round, const Values& value) const;
  /// Encodes and pushes the message to a sum that the worker has joined and not pulled yet. `share`: of all gradients.
  void contribute(Worker& worker, Exchange joined, double share, const Values& value) const;

  const SharedPayload& whole() const { return whole_; }
  /// A client's time when it has pulled the message.
  Seconds decode() const { return decode_; }

 private:
  SharedPayload whole_;
  SharedPayload as_pushed_;
  SharedPayload as_pulled_;
  Seconds encode_;
  Seconds decode_;
};

/// A worker that is back pulls the whole model, waits for it and goes on with it.
void begin_with(Worker& worker, const ServerPost& model);

/// The push of a group of gradients, or of a part of one.
struct GroupPush {
  Seconds post_at;  ///< since backward began, on an undisturbed worker
  ServerPost message;
};

/// A client's time when it has pulled all of them.
Seconds decode_time(const std::vector<GroupPush>& pushes);

/// How a schedule over servers groups its gradients: `grouping`, by default each by itself. A group moves in parts of at most `partition`.
struct ServerGrouping {
  GroupingFunction group = group_wfbp;
  std::optional<Bytes> partition{};

  void declare(Parameters& parameters);
  double posts(const StepProfile& profile) const;
  /// In the order of posting. Throws SimulationError where there are too many parts.
  std::vector<GroupPush> pushes(const ServerParameters& servers, const ScheduleInput& input) const;
  /// The parts of the model in a record of the dataflow: one for each message, or one.
  std::vector<ModelPart> parts(const ServerParameters& servers, const ScheduleInput& input, bool by_message) const;

 private:
  std::vector<GroupPost> messages(const ServerParameters& servers, const ScheduleInput& input) const;
};

/// A learner that makes `interval` local steps between exchanges with the servers, and does not wait for others.
struct Learner {
  ServerParameters servers;
  int interval = 1;

  void declare(Parameters& parameters);
  void place(const Cluster& cluster) { servers.place(cluster); }
  void check(Object& fields, const Cluster& cluster) const { servers.check(fields, cluster); }
  std::string unrecorded() const { return servers.compression.unrecorded(); }
  Pace pace() const { return {.cycle = interval, .may_lose_ranks = true, .is_lossy = !servers.compression.is_none()}; }
  double posts(const StepProfile& /*profile*/) const { return 1.0 / interval; }
  /// Exchanges the whole model with the servers. `learned`: the sum of the gradients since the last exchange.
  using ExchangeModel = std::function<void(Worker& worker, const ServerPost& model, Sender& send, const Sum& learned)>;
  /// Makes local steps, and calls `exchange` after every `interval` of them.
  Program program(const ScheduleInput& input, ExchangeModel exchange) const;
};

/// A rank pushes every group of gradients when it is ready, pulls the servers' answer, and ends a step when all pulls are in. Servers
/// update, not workers. MG-WFBP, Sec. 4.3, merges gradients for a server as it does for an all-reduce.
struct PushPull {
  Answer answer = Answer::all;
  ServerRule rule{};
  ServerParameters servers{};
  ServerGrouping grouping{};
  int backup = 0;  ///< clients whose pushes are not waited for; with Answer::all

  void declare(Parameters& parameters);
  void place(const Cluster& cluster) { servers.place(cluster); }
  void check(Object& fields, const Cluster& cluster) const;
  Traffic traffic() const;
  std::string unrecorded() const { return servers.compression.unrecorded(); }
  Pace pace() const {
    const bool waits_for_all = answer == Answer::all && backup == 0;
    return {.waits_for_all = waits_for_all,
            .may_lose_ranks = answer == Answer::own,
            .is_sgd = waits_for_all && servers.compression.is_none(),
            .is_lossy = !servers.compression.is_none(),
            .servers_update = true,
            .update = [](const StepProfile&) { return Seconds(0); }};
  }
  double posts(const StepProfile& profile) const { return grouping.posts(profile); }
  std::vector<ModelPart> parts(const ScheduleInput& input) const {
    return grouping.parts(servers, input, answer == Answer::own || backup > 0 || !servers.compression.is_none());
  }
  Program program(const ScheduleInput& input) const;
  /// Likewise, but a step is over when its sums have been pulled; the worker gives up the rest of its compute.
  Program program_with_backup(const ScheduleInput& input) const;
};

/// A schedule's servers, on the links of a star. In a node of g GPUs, half of a ring among the GPUs reduces pushes, the other half spreads
/// pulls.
ServerSetup place_servers(ServerSetup setup, const Cluster& cluster);

/// The cost of a push and a pull, on a star or on the network's links as they are at the begin.
PushPullCost push_pull_cost(const ServerSetup& setup, int clients);
PushPullCost push_pull_cost(const ServerSetup& setup, int clients, Network& network);

}  // namespace syncopate
