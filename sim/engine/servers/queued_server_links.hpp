#pragma once

#include <vector>

#include "engine/servers/server_links.hpp"

namespace syncopate {

/// On a star, with servers on nodes of their own: clients send at full speed, whatever others do, and what the servers' links cannot carry
/// yet waits before them in a queue, first come first served byte by byte. Servers share their own links among what they send.
class QueuedServerLinks : public ServerLinks {
 public:
  /// A simulated client stands for `equals` clients that do the same at the same time.
  QueuedServerLinks(const ServerSetup& setup, int clients, int equals, const Arrival& arrival, Clock& clock);

  double moved_share(int /*client*/) const override { return 1.0; }
  void start(Way way, int client, Bytes bytes, const Moment& at) override;

 private:
  void begin(int client, Bytes bytes, const Moment& now);
  /// The queue until `now`.
  void fill_until(Seconds now);

  StarServerLinks pulls_;
  double clients_per_server_;  ///< for which one that is simulated stands
  Rate bandwidth_;
  Seconds latency_;
  Arrival arrival_;
  Clock& clock_;
  std::vector<Queue<Waiting>> messages_;  ///< by client: what it sends, and what follows that
  int sending_ = 0;                       ///< clients
  Seconds queue_;                         ///< what waits at a server, by the time that it will take ...
  Seconds since_;                         ///< ... as it was then
};

}  // namespace syncopate
