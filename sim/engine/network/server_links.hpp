#pragma once

#include <functional>

#include "base/units.hpp"
#include "engine/clock/moment.hpp"

namespace syncopate {

/// A client's message began to move at `start` and has arrived at `end`. It moved for `alone`, the time that its bytes take by themselves;
/// it waited for others in the rest.
Moment arrive(const Moment& start, Seconds end, Seconds alone, int client);
/// When a client's message that left at `start` begins to move.
Moment pass_latency(const Moment& start, Seconds latency, int client);

/// Parameter servers and their clients around a switch, over links that are all alike.
struct ServerStar {
  int servers = 1;
  bool colocated = false;  ///< server s is on the node of client s, and shares its link
  Rate bandwidth;
  Seconds latency;
};

/// How messages between clients and parameter servers share links. A message is equal parts, one for every server.
///
/// | class | how |
/// |---|---|
/// | `StarServerLinks` | on a star, in equal shares |
/// | `QueuedServerLinks` | on a star; pushes wait before the servers' links byte by byte |
/// | `FifoServerLinks` | on a star, message after message |
/// | `FlowServerLinks` | as flows, on any topology |
class ServerLinks {
 public:
  enum class Way { push, pull };
  /// A message's bytes, which move or may move since then.
  struct Waiting {
    Bytes bytes;
    Moment since;
  };

  using Arrival = std::function<void(Way, int client, const Moment&)>;

  ServerLinks() = default;
  ServerLinks(const ServerLinks&) = delete;
  ServerLinks& operator=(const ServerLinks&) = delete;
  virtual ~ServerLinks() = default;

  /// The share of a message that a client moves over its link: less than 1 on a server's node.
  virtual double moved_share(int client) const = 0;
  /// When a message without bytes has arrived, which takes the mean latency of the longest way between the client and a server elsewhere.
  virtual Moment pass(Way way, int client, const Moment& at) const = 0;

  /// A client's message, of which so many bytes > 0 move, leaves at `at` >= the clock. The bytes of a message that leaves later in the same
  /// direction move after it.
  virtual void start(Way way, int client, Bytes bytes, const Moment& at) = 0;
};

}  // namespace syncopate
