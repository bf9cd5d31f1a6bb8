#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/indexed.hpp"
#include "base/queue.hpp"
#include "engine/clock/clock.hpp"
#include "engine/network/server_links.hpp"
#include "engine/network/shared_flows.hpp"

namespace syncopate {

/// On a star: all parts of a message move at the same rate. The busiest link on their way sets it: it divides its bandwidth equally among
/// the parts on it. With servers on nodes of their own this is max-min fair, as flows are.
class StarServerLinks : public ServerLinks {
 public:
  /// A simulated client stands for `equals` clients that do the same at the same time.
  StarServerLinks(const ServerStar& star, int clients, int equals, Arrival arrival, Clock& clock);

  double moved_share(int client) const override;
  Moment pass(Way /*way*/, int client, const Moment& at) const override {
    return moved_share(client) > 0.0 ? pass_latency(at, star_.latency, client) : at;
  }
  void start(Way way, int client, Bytes bytes, const Moment& at) override;

 private:
  /// Flows of the same way whose clients are alike: on a server's node or not.
  struct Class {
    Way way = Way::push;
    bool on_server = false;
    SharedFlows flows;
  };

  bool on_server(int client) const { return star_.colocated && client < star_.servers; }
  Class& flow_class(Way way, int client) { return classes_[(way == Way::pull ? 2U : 0U) + (on_server(client) ? 1U : 0U)]; }
  void add(Way way, int client, Bytes bytes, const Moment& now);
  void begin(Way way, int client, Bytes bytes);
  void set_moving(Way way, int client, bool moving);
  /// How many parts cross the busiest server's link: down to it (others' pushes, its own client's pulls) or up from it.
  double busiest(Way way) const;
  void share_out(Seconds now);
  void end_flows(Seconds now);

  ServerStar star_;
  int equals_;
  Arrival arrival_;
  Clock& clock_;
  std::array<Class, 4> classes_;
  /// By client and way: the message that moves, and those that wait for it.
  Indexed<std::array<Queue<Waiting>, 2>> messages_;
  Indexed<std::array<bool, 2>> moving_;                   ///< per client on a server's node: pushing, pulling
  std::array<std::array<int, 2>, 2> server_states_ = {};  ///< by [pushing][pulling]: how many of these
  std::uint64_t awaited_ = 0;                             ///< number of the event at the next end of a flow; older ones are void
};

}  // namespace syncopate
