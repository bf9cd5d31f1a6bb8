#pragma once

#include "engine/flows.hpp"
#include "engine/server_links.hpp"

namespace syncopate {

/// The parts of a message as flows, on any topology and beside any other traffic.
class FlowServerLinks : public ServerLinks {
 public:
  FlowServerLinks(const ServerSetup& setup, Network& network, Flows& flows, Arrival arrival);

  /// That of the longest way to a server; all parts start after it.
  Seconds latency(int client) const override;
  double moved_share(int client) const override;
  void start(Way way, int client, Bytes bytes, Seconds now) override;

 private:
  std::vector<int> servers_;  ///< ranks
  Network& network_;
  Flows& flows_;
  Arrival arrival_;
};

}  // namespace syncopate
