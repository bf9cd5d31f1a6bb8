#pragma once

#include "base/indexed.hpp"
#include "base/queue.hpp"
#include "engine/clock/clock.hpp"
#include "engine/network/star_server_links.hpp"

namespace syncopate {

/// On a star, with servers on nodes of their own: clients push at full speed, whatever others do. What the servers' links cannot carry yet
/// waits before them in a queue, first come first served byte by byte. Pulls share the servers' links.
class QueuedServerLinks : public ServerLinks {
 public:
  /// A simulated client stands for `equals` clients that do the same at the same time.
  QueuedServerLinks(const ServerStar& star, int clients, int equals, const Arrival& arrival, Clock& clock);

  double moved_share(int /*client*/) const override { return 1.0; }
  Moment pass(Way /*way*/, int client, const Moment& at) const override { return pass_latency(at, latency_, client); }
  void start(Way way, int client, Bytes bytes, const Moment& at) override;

 private:
  void begin(int client, Bytes bytes, const Moment& now);
  /// Brings the queue's length up to `now`.
  void fill_until(Seconds now);

  StarServerLinks pulls_;
  double clients_per_server_;  ///< for each simulated client
  Rate bandwidth_;
  Seconds latency_;
  Arrival arrival_;
  Clock& clock_;
  Indexed<Queue<Waiting>> messages_;  ///< by client: the message that moves, and those that wait for it
  int sending_ = 0;                   ///< simulated clients that push
  Seconds queue_;                     ///< how long a server's link needs for what waits before it ...
  Seconds since_;                     ///< ... at this time
};

}  // namespace syncopate
