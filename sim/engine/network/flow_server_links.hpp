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
/// passed; the message has arrived when the last part has.
class FlowServerLinks : public ServerLinks {
 public:
  FlowServerLinks(Network& network, Flows& flows, MessageLatency latency, Arrival arrival, Clock& clock);

  double moved_share(int client) const override;
  void start(Way way, int client, Bytes bytes, const Moment& at) override;

 private:
  using Ends = std::pair<int, int>;  ///< from, to
  /// A part of a message, whose latency has passed.
  struct Part {
    Bytes bytes;
    std::function<void(const Moment&)> ended;
    Moment since;
  };
  struct Line {
    std::deque<Part> parts;  ///< the first one moves, the others wait
    Moment last;             ///< when the latency of the last one is over
  };

  using LineName = std::pair<Way, Ends>;

  /// How many servers are not on the client's node.
  int other_servers(int client) const;
  void add(const LineName& name, Part part);
  void begin(const LineName& name, const Moment& now);

  Network& network_;
  Flows& flows_;
  MessageLatency latency_;
  Arrival arrival_;
  Clock& clock_;
  std::map<std::pair<Way, int>, std::uint64_t> started_;  ///< messages of each client
  std::map<LineName, Line> lines_;
};

}  // namespace syncopate
