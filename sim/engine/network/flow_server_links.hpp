#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "engine/clock/clock.hpp"
#include "engine/network/flows.hpp"
#include "engine/network/latency.hpp"
#include "engine/network/server_links.hpp"

namespace syncopate {

/// The parts of a message as flows, on any topology and beside any other traffic. Each part begins to move when the latency of its way has
/// passed, unless flows take latencies themselves; the message has arrived when the last part has.
///
/// Servers on nodes of their own, in one region or on one star, are alike: the parts for them do the same at the same time, and move as
/// one. Their own links count as one of the sum of their bandwidths.
class FlowServerLinks : public ServerLinks {
 public:
  /// `join`: parts for servers that are alike move as one.
  FlowServerLinks(Network& network, Flows& flows, MessageLatency latency, bool join, Arrival arrival, Clock& clock);

  double moved_share(int client) const override;
  Moment pass(Way way, int client, const Moment& at) const override;
  void start(Way way, int client, Bytes bytes, const Moment& at) override;

 private:
  using Ends = std::pair<int, int>;  ///< from, to
  /// The parts of a message for a group, which may move now.
  struct Part {
    Bytes bytes;  ///< of all servers of the group
    int servers = 1;
    std::function<void(const Moment&)> ended;
    Moment since;
    Seconds latency;
  };
  struct Line {
    std::deque<Part> parts;  ///< the first one moves, the others wait
    Moment last;             ///< when the latency of the last one is over
  };

  using LineName = std::pair<Way, Ends>;

  static Ends ends_of(Way way, int client, int server) { return way == Way::push ? Ends(client, server) : Ends(server, client); }
  /// How many servers are not on the client's node.
  int other_servers(int client) const;
  /// The links of the group's servers, which others do not use, are as wide as all of them.
  void widen_links(Way way, int client, const Network::ServerGroup& group);
  void add(const LineName& name, Part part);
  void begin(const LineName& name, const Moment& now);

  Network& network_;
  Flows& flows_;
  MessageLatency latency_;
  Arrival arrival_;
  Clock& clock_;
  std::vector<Network::ServerGroup> groups_;
  std::map<std::pair<Way, int>, std::uint64_t> started_;  ///< messages of each client
  std::map<LineName, Line> lines_;
};

}  // namespace syncopate
