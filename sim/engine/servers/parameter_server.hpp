#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/queue.hpp"
#include "collective/payload.hpp"
#include "engine/clock/clock.hpp"
#include "engine/network/flows.hpp"
#include "engine/network/latency.hpp"
#include "engine/servers/server_links.hpp"
#include "engine/servers/server_values.hpp"
#include "timeline/recorder.hpp"

namespace syncopate {

/// The parameter servers of a job and the channels of their clients. All servers hold equal shares, so that one queue stands
/// for all of theirs: a push is handled in the order of its arrival. A client pushes one message at a time and pulls one at
/// a time, each in order.
///
/// The way of a message: push -> next_push (its channel is free) -> push_arrived -> reach_server -> serve_push (its turn) ->
/// handled -> answer (its pull is possible, where one follows) -> next_pull -> pull_arrived -> spread_in_node -> end. A channel is occupied
/// from a transfer's start to its end, one without duplex also while the server works; it is moving only in the transfers. What a node of
/// several GPUs does before a push and after a pull occupies the channel, too, unless it is pipelined. Where messages overlap, each leaves
/// when it may, and the channel is that of the first of those under way.
///
/// Data, as a Stream is: posts may carry times ahead of the clock, and its events do the rest.
class ParameterServer {
 public:
  /// A simulated client stands for `equals` clients that do the same at the same time. `flows`: where the setup wants them, else null.
  /// `flow`: the record of what is computed, or null.
  ParameterServer(const ServerSetup& setup, int clients, int equals, Network& network, Flows* flows, MessageLatency latency, Dataflow* flow,
                  Recorder& recorder, Clock& clock);
  ParameterServer(const ParameterServer&) = delete;
  ParameterServer& operator=(const ParameterServer&) = delete;

  /// A client pushes at time `at` >= the clock; the options say what moves. Throws SimulationError when its `Answer::all` pushes differ
  /// from those of others.
  Exchange push(int client, const SharedPayload& payload, int round, Answer answer, const PushOptions& options, const Moment& at);
  /// A client will pull the sum of all clients' pushes of a tensor, once so many of them have been handled as the setup's `backup` demands;
  /// at once if they have been. When it ended is kept. Throws as push() does.
  Exchange join(int client, const SharedPayload& payload, int round, const PushOptions& options, const Moment& at);
  /// It pushes to that sum, unless it has pulled it: false then. `share`: of the client's gradients of this step. What arrives too late is
  /// dropped.
  bool contribute(int client, Exchange joined, double share, const PushOptions& options, const Moment& at);
  /// A client pulls, in its turn among the pushes that have arrived.
  Exchange pull(int client, const SharedPayload& payload, int round, const SharedPayload& as_pulled, const Moment& at);

  /// Blocks the calling actor until the pull is in or, where there is none, until the push has been handled; returns when that was, or 0
  /// if it was before and has not been kept.
  Moment wait(int client, Exchange exchange);
  /// Blocks the calling actor until the clock's `end`, or until all of what a client has joined is in, and says when that was.
  std::optional<Moment> wait_until(int client, std::span<const Exchange> joined, const Moment& end);
  /// The model that has been pulled, once; nothing where nothing is recorded.
  Values take_pulled(int client, Exchange exchange) { return values_.take(client, exchange.index); }

  /// Whether a transfer of the client is under way at `time`, the clock's.
  bool is_busy(int client, Seconds time) const;
  /// Somebody is blocked until `client` pushes.
  bool is_awaited_from(int client) const;
  /// For a diagnosis: every push that somebody waits for and who has not pushed.
  std::string describe_waits() const;

  /// At the end of the run: records the transfers under way.
  void cut_off();

 private:
  struct Request {
    SharedPayload payload;
    int round = 0;
    Answer answer = Answer::none;
    bool only_pull = false;
    PushOptions options{};
    Moment posted{};            ///< and reduced within the node; of a pull that answers a push, when it became possible
    std::size_t aggregate = 0;  ///< Answer::all: its number among those of its client
    double share = 0.0;         ///< of a step's gradients, of a push to what has been joined; another request pulls the sum then
    std::optional<Moment> ended{};
    Completion* waiter = nullptr;
  };
  /// A transfer at a time, first come first served.
  struct Channel {
    Queue<std::size_t> queue;                          ///< indices of requests
    std::size_t left = 0;                              ///< how many of these have left, where messages overlap
    std::set<std::pair<double, std::size_t>> waiting;  ///< by priority: what has yet to join them ...
    Bytes bytes;                                       ///< ... and how much has
    bool occupied = false;
    Moment free;                                         ///< when it became free
    Moment since;                                        ///< start of the transfer under way
    bool moving = false;                                 ///< what takes time
    TransferSpan::Kind kind = TransferSpan::Kind::push;  ///< of what moves
  };
  struct Client {
    Queue<Request> requests;  ///< those that have not ended, and ended ones behind them
    std::size_t forgotten = 0;
    std::size_t aggregates = 0;
    Channel up;
    Channel down;
    Moment gathered;  ///< its node has reduced all pushes by then ...
    Moment spread;    ///< ... and spread all pulls, where that is pipelined
  };
  /// A push that all clients pull the sum of.
  struct Aggregate {
    SharedPayload payload;
    int round = 0;
    int first_client = 0;
    int joined = 0;
    int served = 0;
    int handled = 0;
    std::vector<std::size_t> requests{};  ///< per client that has joined, index + 1 of what is answered; empty when it has been
  };
  /// What asynchronous clients have done to one tensor.
  struct Versions {
    long updates = 0;
    std::vector<long> seen;  ///< per client, updates in what it pulled last
  };

  Client& client_at(int client) { return clients_[static_cast<std::size_t>(client)]; }
  Request& request(int client, std::size_t index) { return client_at(client).requests[index - client_at(client).forgotten]; }
  Channel& down(int client) { return setup_.duplex ? client_at(client).down : client_at(client).up; }
  /// Null when it has ended and been forgotten.
  const Request* find(int client, std::size_t index) const;
  std::size_t add(int client, Request request);
  /// A push enters its client's channel.
  std::size_t send(int client, Request pushed, const Moment& at);
  void join_aggregate(int client, std::size_t index);
  /// Pushes to a sum that are waited for.
  int needed() const { return static_cast<int>(clients_.size()) - setup_.backup; }
  Aggregate& aggregate_of(const Request& request) { return aggregates_[request.aggregate - forgotten_aggregates_]; }
  /// Enough of the others' pushes to its sum have come before it.
  bool is_late(const Request& pushed) {
    return pushed.answer == Answer::all && (pushed.aggregate < forgotten_aggregates_ || aggregate_of(pushed).served == needed());
  }
  void forget_answered();

  /// A push or the request for a pull reaches the server.
  void reach_server(int client, std::size_t index, const Moment& now);
  void serve_arrivals();
  void serve_push(int client, std::size_t index, const Moment& arrival);
  /// What servers do for a push, of a client or of all that it stands for.
  Seconds work_on(const Request& pushed);
  void serve_pull(int client, std::size_t index, const Moment& arrival);
  /// By priority: a message may move from now on.
  void let_wait(int client, ServerLinks::Way way, std::size_t index, const Moment& now);
  /// Those of least priority that the credit allows go, once everything of this instant has happened.
  void choose(int client, ServerLinks::Way way, const Moment& now);
  void next_push(int client);
  /// Where messages overlap, all that are in the channel's queue.
  void send_off(int client, Channel& channel, ServerLinks::Way way);
  void push_arrived(int client, const Moment& now);
  void handled(int client, std::size_t index, const Moment& now);
  void note_staleness(int client, const Request& pushed);
  void answer(int client, std::size_t index, const Moment& now);
  void next_pull(int client, const Moment& now);
  void move_pull(int client, const Moment& now);
  void pull_arrived(int client, const Moment& now);
  void spread_in_node(int client, std::size_t index, const Moment& now);
  Seconds gather_time(Bytes bytes) const { return setup_.gather_latency + setup_.gather * bytes; }
  Seconds spread_time(const Request& pulled) const;
  /// What a client's GPUs do among each other.
  static Why in_node(int client) { return {.kind = PathClass::transfer, .worker = client, .link = Network::inside_node}; }
  void release(int client, Channel& channel, ServerLinks::Way way, const Moment& now);
  void end(int client, std::size_t index, const Moment& now);
  static void forget_ended(Client& client);
  void arrived(ServerLinks::Way way, int client, const Moment& now);
  void transfer(ServerLinks::Way way, int client, Bytes bytes, const Moment& start);
  /// `node_time`: of what its node does with the message in the channel's time.
  void begin_transfer(int client, Channel& channel, TransferSpan::Kind kind, const Moment& now, Seconds node_time);
  void end_transfer(int client, Channel& channel, const Moment& now);

  ServerSetup setup_;
  int equals_;
  Recorder& recorder_;
  Clock& clock_;
  std::vector<Client> clients_;
  std::deque<Aggregate> aggregates_;  ///< those that not all clients have joined or that are not answered, and others behind them
  std::size_t forgotten_aggregates_ = 0;
  std::unordered_map<const Payload*, Versions> versions_;
  struct Arrival {
    int client = 0;
    std::size_t index = 0;
    Moment time;
  };
  std::vector<Arrival> arrivals_;  ///< of this instant
  ServerValues values_;
  Moment server_free_;
  std::unique_ptr<ServerLinks> links_;
};

}  // namespace syncopate
