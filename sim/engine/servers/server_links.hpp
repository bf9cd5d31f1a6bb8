#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/queue.hpp"
#include "base/units.hpp"
#include "engine/clock/clock.hpp"
#include "engine/clock/moment.hpp"
#include "engine/network/shared_flows.hpp"
#include "engine/servers/exchange.hpp"

namespace syncopate {

/// When a message that began to move at `start` has arrived: after the time that its bytes take by themselves and, if it is later than
/// that, in a queue, or among others.
Moment arrive(const Moment& start, Seconds end, Seconds alone, int client);
Moment pass_latency(const Moment& start, Seconds latency, int client);

/// How the messages between clients and servers move. A message is equal parts, one for every server.
class ServerLinks {
 public:
  enum class Way { push, pull };
  /// Some bytes that may move since then, or do.
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

  /// A client's message, of which so many bytes > 0 move, leaves at `at` >= the clock. The bytes of what leaves later in the same direction
  /// move after it.
  virtual void start(Way way, int client, Bytes bytes, const Moment& at) = 0;
};

/// On a star: all parts of a message move at the same rate, that of the busiest link on their way, which it divides equally among
/// the parts on it. With servers on nodes of their own this is max-min fair, and what flows do.
class StarServerLinks : public ServerLinks {
 public:
  /// A simulated client stands for `equals` clients that do the same at the same time.
  StarServerLinks(const ServerSetup& setup, int clients, int equals, Arrival arrival, Clock& clock);

  double moved_share(int client) const override;
  void start(Way way, int client, Bytes bytes, const Moment& at) override;

 private:
  /// Flows of the same way whose clients are alike: on a server's node or not.
  struct Class {
    Way way = Way::push;
    bool on_server = false;
    SharedFlows flows;
  };

  bool on_server(int client) const { return setup_.colocated && client < setup_.servers; }
  Class& flow_class(Way way, int client) { return classes_[(way == Way::pull ? 2U : 0U) + (on_server(client) ? 1U : 0U)]; }
  void add(Way way, int client, Bytes bytes, const Moment& now);
  void begin(Way way, int client, Bytes bytes);
  void set_moving(Way way, int client, bool moving);
  /// Parts that cross the busiest server's link: down to it (pushes of others, its own client's pulls) or up from it.
  double busiest(Way way) const;
  void share_out(Seconds now);
  void end_flows(Seconds now);

  ServerSetup setup_;
  int equals_;
  Arrival arrival_;
  Clock& clock_;
  std::array<Class, 4> classes_;
  /// By client and way: what moves, and what its latency no longer keeps from that.
  std::vector<std::array<Queue<Waiting>, 2>> messages_;
  std::vector<std::array<bool, 2>> moving_;               ///< per client on a server's node: pushing, pulling
  std::array<std::array<int, 2>, 2> server_states_ = {};  ///< how many of these push and pull
  std::uint64_t awaited_ = 0;                             ///< number of the event at the next end of a flow; older ones are void
};

}  // namespace syncopate
