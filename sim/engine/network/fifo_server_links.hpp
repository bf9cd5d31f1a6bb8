#pragma once

#include <array>
#include <vector>

#include "base/indexed.hpp"
#include "base/queue.hpp"
#include "engine/clock/clock.hpp"
#include "engine/network/server_links.hpp"

namespace syncopate {

/// On a star, with servers on nodes of their own: they carry as many messages at a time in each direction as there are servers, each at the
/// client's full speed, first come first served. Messages that come at the same instant go in the order of the clients.
class FifoServerLinks : public ServerLinks {
 public:
  FifoServerLinks(const ServerStar& star, int clients, Arrival arrival, Clock& clock);

  double moved_share(int /*client*/) const override { return 1.0; }
  Moment pass(Way /*way*/, int client, const Moment& at) const override { return pass_latency(at, latency_, client); }
  void start(Way way, int client, Bytes bytes, const Moment& at) override;

 private:
  /// The first message of a client, which may move since then.
  struct Turn {
    int client = 0;
    Moment since;
  };
  struct Direction {
    Indexed<Queue<Waiting>> messages;  ///< by client: the message that moves or waits for its turn, and those behind it
    std::vector<Turn> coming;          ///< those that have come at this instant
    Queue<Turn> waiting;
    int moving = 0;
  };

  Direction& direction(Way way) { return directions_[way == Way::push ? 0 : 1]; }
  void come(Way way, int client, const Moment& now);
  void line_up(Way way);
  void move(Way way, int client, const Moment& now);
  void moved(Way way, int client, const Moment& now);

  Rate bandwidth_;
  Seconds latency_;
  int servers_;
  Arrival arrival_;
  Clock& clock_;
  std::array<Direction, 2> directions_;
};

}  // namespace syncopate
