#pragma once

#include <cstddef>
#include <optional>

#include "base/units.hpp"
#include "collective/payload.hpp"
#include "dataflow/replica.hpp"
#include "engine/streams/admission.hpp"

namespace syncopate {

/// How the links of servers carry several clients' messages at a time.
enum class Service {
  shared,  ///< in equal shares
  queued,  ///< pushes in a queue, byte by byte; pulls in equal shares
  fifo,    ///< message after message
};

/// What servers do to the model with a push, for a record of the dataflow.
struct ServerRule {
  bool sums_rounds = false;  ///< `handle` is called with the mean of all clients' pushes in a round; else with each push, in order
  /// `seen`: what the servers have answered this client with last, for the same parts; empty with `sums_rounds`.
  void (*handle)(Replica& servers, const Values& pushed, const Values& seen, int clients) = nullptr;
};

/// Parameter servers and their clients' nodes.
struct ServerSetup {
  int servers = 1;         ///< each holds the same share of every tensor
  bool colocated = false;  ///< server s is on the node of client s (on regions: where the network says) and shares its link
  bool duplex = true;      ///< pushes and pulls of a client move at the same time; false: one tensor at a time, push, work and pull
  bool overlaps = false;   ///< a client's messages follow each other with their bytes, not with their latencies; with duplex only
  /// A client's messages go by their priorities, with such a credit in each direction; they overlap then.
  std::optional<Credit> by_priority{};
  Service service = Service::shared;  ///< others on a star of plain links only, and not colocated
  bool on_request = false;            ///< a client asks for a pull when the servers have acknowledged its push; false: servers send at once
  bool asynchronous = false;          ///< clients do not wait for each other: note the staleness of every push
  int backup = 0;                     ///< how many clients' pushes a sum does not wait for; with duplex only
  SecondsPerByte work;                ///< a server's time for each byte of its share of a push, as it was sent
  SecondsPerByte decode{};            ///< a server's time for each byte of its share of a push before compression
  Seconds per_message;                ///< a server's time for each message that it receives or sends
  SecondsPerByte encode{};            ///< a server's time for each byte of its share of a pull, for each answer
  bool may_join = false;              ///< messages to servers that are alike may be simulated as one
  bool as_flows = false;              ///< messages are flows over the network's links; else they move on a star, whose links are all alike:
  Rate bandwidth;
  Seconds latency;
  bool pipelined = true;   ///< a client's node reduces and spreads messages while its channels move others
  SecondsPerByte gather;   ///< within a client's node, before a push: time per byte ...
  Seconds gather_latency;  ///< ... and message
  SecondsPerByte spread;   ///< within a client's node, after a pull
  Seconds spread_latency;
  ServerRule rule{};
};

/// What servers answer a push with. All acknowledge it, where pulls are on request.
enum class Answer {
  none,
  own,  ///< the client pulls as soon as its own push has been handled
  all,  ///< every client pulls once the pushes of all of them have been handled
};

/// How a push moves, and the pull that answers it.
struct PushOptions {
  SharedPayload as_pushed{};  ///< what moves for the push; null: the payload itself
  SharedPayload as_pulled{};  ///< what moves for the pull; null: the payload itself
  bool spread = true;         ///< the client's node spreads what it has pulled among its GPUs
  double priority = 0.0;      ///< lower first, where the setup is by priority
  bool keep_end = false;      ///< the time of its end is kept until the client waits for it
  Values value{};             ///< what the push carries, for a record of the dataflow
};

/// Names a push with the pull that answers it, or a pull: its position among those of its client.
struct Exchange {
  std::size_t index = 0;
};

}  // namespace syncopate
