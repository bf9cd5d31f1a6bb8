#pragma once

#include <cstddef>
#include <optional>

#include "base/units.hpp"
#include "collective/payload.hpp"
#include "dataflow/replica.hpp"
#include "engine/streams/admission.hpp"

namespace syncopate {

/// How the links of servers carry what several clients send at a time.
enum class Service {
  shared,  ///< in equal shares
  queued,  ///< what is pushed in a queue, byte by byte; what is pulled in equal shares
  fifo,    ///< message after message
};

/// What servers do to the model with what is pushed, for a record of the dataflow.
struct ServerRule {
  bool sums_rounds = false;  ///< with the mean of what all clients have pushed in a round; else with each push, in order
  /// `seen`: what this client was answered with last, of the same parts; empty with `sums_rounds`.
  void (*handle)(Replica& servers, const Values& pushed, const Values& seen, int clients) = nullptr;
};

/// Parameter servers and their clients' nodes.
struct ServerSetup {
  int servers = 1;         ///< each holds the same share of every tensor
  bool colocated = false;  ///< server s is on the node of client s (on regions: where the network says) and shares its link
  bool duplex = true;      ///< pushes and pulls of a client move at the same time; false: one tensor at a time, push, work and pull
  bool overlaps = false;   ///< latencies of a client's messages pass at the same time, only their bytes follow each other; with duplex only
  /// A client's messages go by their priorities, with such a credit in each direction; they overlap then.
  std::optional<Credit> by_priority{};
  Service service = Service::shared;  ///< others on a star of plain links only, and not colocated
  bool asynchronous = false;          ///< clients do not wait for each other: note the staleness of every push
  int backup = 0;                     ///< so many clients' pushes are not waited for, where all clients pull a sum; with duplex only
  SecondsPerByte work;                ///< a server's time for each byte of its share of a push, as it was sent
  SecondsPerByte decode{};            ///< the same of what it stands for, where that is more
  Seconds per_message;                ///< of a server, for each message that it receives or sends
  SecondsPerByte encode{};            ///< of what is pulled, for each answer
  bool as_flows = false;              ///< messages are flows over the network's links; else on a star, whose links are all alike:
  Rate bandwidth;
  Seconds latency;
  bool pipelined = true;   ///< a client's node reduces and spreads messages while its channels move others
  SecondsPerByte gather;   ///< within a client's node, before a push: time per byte ...
  Seconds gather_latency;  ///< ... and message
  SecondsPerByte spread;   ///< within a client's node, after a pull
  Seconds spread_latency;
  ServerRule rule{};
};

/// What a server answers a push with.
enum class Answer {
  none,
  own,  ///< the client pulls as soon as its own push has been handled
  all,  ///< every client pulls once the pushes of all of them have been handled
};

/// What moves for a message, and how the pull that answers it ends.
struct PushOptions {
  SharedPayload as_pushed{};  ///< null: the message itself
  SharedPayload as_pulled{};  ///< likewise
  bool spread = true;         ///< what has been pulled, among the GPUs of the client's node
  double priority = 0.0;      ///< lower first, where the setup is by priority
  bool keep_end = false;      ///< when it ended is kept until it is waited for
  Values value{};             ///< what it carries, for a record of the dataflow
};

/// Names one push, with the pull that answers it, or one pull: its position among those of its client.
struct Exchange {
  std::size_t index = 0;
};

}  // namespace syncopate
