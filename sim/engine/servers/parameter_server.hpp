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

#include "base/indexed.hpp"
#include "base/queue.hpp"
#include "collective/payload.hpp"
#include "engine/clock/clock.hpp"
#include "engine/network/flows.hpp"
#include "engine/network/latency.hpp"
#include "engine/network/server_links.hpp"
#include "engine/servers/server_values.hpp"
#include "timeline/recorder.hpp"

namespace syncopate {

/// The parameter servers of a job and the channels of their clients. All servers hold equal shares, so that one queue stands for all of
/// theirs: they handle pushes in the order of arrival. A client pushes one message at a time and pulls one at a time, each in order.
///
/// The functions that a message passes:
/// 1. push: a node of several GPUs reduces what is pushed.
/// 2. next_push: the client's channel is free, and the message moves.
/// 3. push_arrived, reach_server: it has arrived; messages of the same instant are served in the order of the clients.
/// 4. serve_push: the servers' turn for it.
/// 5. handled: the servers have handled it.
/// 6. allow_pull: its pull is possible, where one follows; on request, the client is told, and asks for it.
/// 7. answer, next_pull: the channel is free, and the pull moves.
/// 8. pull_arrived, spread_in_node: a node of several GPUs spreads what has been pulled.
/// 9. end.
///
/// A channel is occupied from a transfer's start to its end, without duplex also while the servers work; it is moving only in the
/// transfers. Reducing and spreading within the node occupy the channel, too, unless they are pipelined. Where messages overlap, each
/// leaves when it may, and the channel is that of the first message under way.
///
/// A ParameterServer is data, as a Stream is: pushes and pulls may carry times ahead of the clock, and events of the clock do the rest.
class ParameterServer {
 public:
  /// A simulated client stands for `equals` clients that do the same at the same time. `flows`: null where messages move on a star.
  /// `dataflow`: null where nothing is recorded.
  ParameterServer(const ServerSetup& setup, int clients, int equals, Network& network, Flows* flows, MessageLatency latency,
                  Dataflow* dataflow, Recorder& recorder, Clock& clock);
  ParameterServer(const ParameterServer&) = delete;
  ParameterServer& operator=(const ParameterServer&) = delete;

  /// A client pushes at time `at` >= the clock; the options say what moves. Throws SimulationError when its `Answer::all` pushes differ
  /// from other clients'.
  Exchange push(int client, const SharedPayload& payload, int round, Answer answer, const PushOptions& options, const Moment& at);
  /// A client will pull the sum of all clients' pushes of a tensor, once the servers have handled those of all clients but `backup` many;
  /// at once if they have. The end is kept. Throws as push() does.
  Exchange join(int client, const SharedPayload& payload, int round, const PushOptions& options, const Moment& at);
  /// The client pushes to a sum that it has joined; returns false, and does nothing, if it has pulled that. `share`: of the client's
  /// gradients of this step. The servers drop what arrives too late.
  bool contribute(int client, Exchange joined, double share, const PushOptions& options, const Moment& at);
  /// A client pulls, in its turn among the pushes that have arrived.
  Exchange pull(int client, const SharedPayload& payload, int round, const SharedPayload& as_pulled, const Moment& at);

  /// Blocks the calling actor until the pull is in or, where there is none, until the push has been handled and, on request, acknowledged.
  /// Returns when that was; 0 if it was before and has not been kept.
  Moment wait(int client, Exchange exchange);
  /// Blocks the calling actor until all sums that a client has joined are in, and returns when that was; nothing if they are not by `end`.
  std::optional<Moment> wait_until(int client, std::span<const Exchange> joined, const Moment& end);
  /// The model that has been pulled, once; nothing where nothing is recorded.
  Values take_pulled(int client, Exchange exchange) { return values_.take(client, exchange.index); }

  /// Whether a transfer of the client is under way at `time`, the clock's.
  bool is_busy(int client, Seconds time) const;
  /// Whether all messages that the client has posted have ended at `time`: nothing moves until it posts again.
  bool is_idle(int client, Seconds time) const;
  /// Whether some client is blocked until `client` pushes.
  bool is_awaited_from(int client) const;
  /// For a diagnosis: every push that a client waits for, and who has not pushed.
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
    Moment posted{};            ///< and reduced within the node; of a pull that answers a push, when it entered its channel's queue
    std::size_t aggregate = 0;  ///< Answer::all: its number among those of its client
    double share = 0.0;         ///< of a step's gradients, in a push to a joined sum; another request pulls the sum then
    std::optional<Moment> ended{};
    Completion* waiter = nullptr;
  };
  /// A transfer at a time, first come first served.
  struct Channel {
    Queue<std::size_t> queue;  ///< indices of requests
    std::size_t left = 0;      ///< how many of them have left, where messages overlap
    std::set<std::pair<double, std::size_t>>
        waiting;  ///< by priority: priorities and indices of requests that are not in the queue yet ...
    Bytes bytes;  ///< ... and the bytes of those that are
    bool occupied = false;
    Moment free;                                         ///< when it became free
    Moment since;                                        ///< start of the transfer under way
    bool moving = false;                                 ///< a transfer is under way that takes time
    TransferSpan::Kind kind = TransferSpan::Kind::push;  ///< of what moves
  };
  struct Client {
    Queue<Request> requests;    ///< from the first one that has not ended
    std::size_t forgotten = 0;  ///< how many came before those
    std::size_t aggregates = 0;
    Channel up;
    Channel down;
    Moment gathered;  ///< its node has reduced all pushes by then ...
    Moment spread;    ///< ... and spread all pulls, where that is pipelined
  };
  /// Pushes of all clients to one sum, which all of them pull.
  struct Aggregate {
    SharedPayload payload;
    int round = 0;
    int first_client = 0;
    int joined = 0;
    int served = 0;
    int handled = 0;
    Indexed<std::size_t> requests{};  ///< per client: index + 1 of the request to answer, 0 if it has not joined; empty once answered
  };
  /// What asynchronous clients have done to one tensor.
  struct Versions {
    long updates = 0;
    Indexed<long> seen;  ///< per client, updates in what it pulled last
  };

  Request& request(int client, std::size_t index) { return clients_[client].requests[index - clients_[client].forgotten]; }
  Channel& down(int client) { return setup_.duplex ? clients_[client].down : clients_[client].up; }
  /// Null when it has ended and been forgotten.
  const Request* find(int client, std::size_t index) const;
  std::size_t add(int client, Request request);
  /// A push enters its client's channel.
  std::size_t send(int client, Request pushed, const Moment& at);
  void join_aggregate(int client, std::size_t index);
  /// How many pushes a sum needs.
  int needed() const { return static_cast<int>(clients_.size()) - setup_.backup; }
  Aggregate& aggregate_of(const Request& request) { return aggregates_[request.aggregate - forgotten_aggregates_]; }
  /// Whether a sum has been complete without this push.
  bool is_late(const Request& pushed) {
    return pushed.answer == Answer::all && (pushed.aggregate < forgotten_aggregates_ || aggregate_of(pushed).served == needed());
  }
  void forget_answered();

  /// A push or the request for a pull reaches the server.
  void reach_server(int client, std::size_t index, const Moment& now);
  void serve_arrivals();
  void serve_push(int client, std::size_t index, const Moment& arrival);
  /// The time that the servers work on a push, for all clients that the simulated one stands for.
  Seconds work_on(const Request& pushed);
  void serve_pull(int client, std::size_t index, const Moment& arrival);
  /// Where messages go by priority: this one may move from now on.
  void let_wait(int client, ServerLinks::Way way, std::size_t index, const Moment& now);
  /// Where messages go by priority: lets go those of the least priority value that the credit allows.
  void choose(int client, ServerLinks::Way way, const Moment& now);
  void next_push(int client);
  /// Where messages overlap: sends all that are in the channel's queue.
  void send_off(int client, Channel& channel, ServerLinks::Way way);
  void push_arrived(int client, const Moment& now);
  void handled(int client, std::size_t index, const Moment& now);
  void note_staleness(int client, const Request& pushed);
  /// A push that no pull follows has been handled; on request, the client is told.
  void acknowledge(int client, std::size_t index, const Moment& now);
  void allow_pull(int client, std::size_t index, const Moment& now);
  /// The model that the client will have pulled: that of a sum when it is complete, else that of now.
  void note_answer(int client, std::size_t index);
  /// The servers send the client what it pulls, in its turn.
  void answer(int client, std::size_t index, const Moment& now);
  /// When a message without bytes that leaves at `at` has arrived: a client's request for a pull, or the servers' acknowledgement of a
  /// push. At once where pulls are not on request.
  Moment signal(ServerLinks::Way way, int client, const Moment& at) const;
  void next_pull(int client, const Moment& now);
  void move_pull(int client, const Moment& now);
  void pull_arrived(int client, const Moment& now);
  void spread_in_node(int client, std::size_t index, const Moment& now);
  Seconds gather_time(Bytes bytes) const { return setup_.gather_latency + setup_.gather * bytes; }
  Seconds spread_time(const Request& pulled) const;
  /// The cause of a stretch in which a client's GPUs send to each other.
  static Why in_node(int client) { return {.kind = PathClass::transfer, .worker = client, .link = Network::inside_node}; }
  void release(int client, Channel& channel, ServerLinks::Way way, const Moment& now);
  void end(int client, std::size_t index, const Moment& now);
  static void forget_ended(Client& client);
  void arrived(ServerLinks::Way way, int client, const Moment& now);
  void transfer(ServerLinks::Way way, int client, Bytes bytes, const Moment& start);
  /// `node_time`: what the node does with the message while that occupies the channel.
  void begin_transfer(int client, Channel& channel, TransferSpan::Kind kind, const Moment& now, Seconds node_time);
  void end_transfer(int client, Channel& channel, const Moment& now);

  ServerSetup setup_;
  int equals_;
  Recorder& recorder_;
  Clock& clock_;
  Indexed<Client> clients_;
  std::deque<Aggregate> aggregates_;      ///< from the first one that a client has yet to join or that is not answered
  std::size_t forgotten_aggregates_ = 0;  ///< how many came before those
  std::unordered_map<const Payload*, Versions> versions_;
  struct Arrival {
    int client = 0;
    std::size_t index = 0;
    Moment time;
  };
  std::vector<Arrival> arrivals_;  ///< at this instant
  ServerValues values_;
  Moment server_free_;
  std::unique_ptr<ServerLinks> links_;
};

}  // namespace syncopate
