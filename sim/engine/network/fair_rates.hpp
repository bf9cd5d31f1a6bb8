#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/units.hpp"

namespace syncopate {

/// The max-min fair rates of flows over links, as flows come and go: no flow could be faster without a slower or equally fast one
/// becoming slower still. By progressive filling: all rates grow alike, until a link is full or a flow has its limit; its flows keep that
/// rate, the others grow on. D. Bertsekas and R. Gallager, "Data Networks", 2nd edition, section 6.5.2. A flow of weight w grows w times
/// as fast: as w flows would together.
///
/// Only flows that a change can reach get new rates. It reaches the flows on a link that holds some flow back, and goes on from each of
/// these over its other such links. A link that holds nobody back passes nothing on, until a flow that was reached would be held back
/// there: then rates are shared again with all flows on it.
class FairRates {
 public:
  /// The link's bandwidth from now on. The rates of flows that are on it follow at the next update().
  void set_bandwidth(std::size_t link, Rate bandwidth);
  bool knows(std::size_t link) const { return link < links_.size() && links_[link].bandwidth > 0.0; }

  /// A flow begins, on known links, of which there is one at least. It is never faster than `limit`. Flows are numbered from 0; a number
  /// is free again when its flow has been removed.
  void add(std::size_t flow, std::span<const std::size_t> links, Rate limit, int weight = 1);
  void remove(std::size_t flow);
  /// The flow's limit from now on; rates follow at the next update().
  void set_limit(std::size_t flow, Rate limit);

  /// Shares the links anew; returns the flows whose rates have changed.
  std::span<const std::size_t> update();
  Rate rate(std::size_t flow) const { return Rate(flows_[flow].rate); }
  /// The link that keeps the flow from being faster; where its own limit does, the narrowest on its way.
  std::size_t limiting_link(std::size_t flow) const;

 private:
  using Index = std::uint32_t;
  static constexpr Index none = std::numeric_limits<Index>::max();

  /// A flow on a link: the link's index among the flow's.
  struct Member {
    Index flow = 0;
    Index position = 0;
  };
  /// A link of a flow: the flow's index among the link's.
  struct Crossing {
    Index link = 0;
    Index place = 0;
  };
  struct SharedLink {
    double bandwidth = 0.0;
    std::vector<Member> flows;
    double used = 0.0;       ///< the sum of its flows' rates
    Index held = 0;          ///< how many flows it holds back
    bool is_asked = false;   ///< the next update is to reach all of its flows
    std::uint64_t seen = 0;  ///< the last attempt to share that has reached the link
    bool is_whole = false;   ///< ... with all of its flows
    double left = 0.0;       ///< while rates grow: bandwidth that is left ...
    Index growing = 0;       ///< ... and the weight of the flows on it that grow
  };
  struct Flow {
    std::vector<Crossing> crossings;  ///< none: the number is free
    double limit = 0.0;
    double rate = 0.0;
    Index weight = 1;
    Index held_by = none;     ///< the link that holds it back, also one that it has for itself; none: its own limit does
    Index stopped_by = none;  ///< the same, if several flows are on it
    std::uint64_t seen = 0;   ///< the last attempt to share that has reached the flow
    bool is_growing = false;
    double next_rate = 0.0;  ///< of this attempt
    Index next_held_by = none;
    Index next_stopped_by = none;
    Index narrowest_own = none;  ///< of the links that it has for itself, the one that limits it
  };
  /// What ends the growth of flows, at the latest at this rate of a flow of weight 1: a full link, or a flow's own limit.
  struct Stop {
    double rate = 0.0;
    Index index = 0;
    bool is_link = true;

    bool operator<(const Stop& other) const { return rate > other.rate; }
  };

  void ask(Index link);
  void reach(Index flow);
  void reach_whole(Index index);
  void reach_from_changes(bool everything);
  void reach_links_of(Index index, bool everything);
  void count_partly_reached();
  bool fill();
  void settle(Flow& flow, double level, Index held_by, Index stopped_by);
  void keep(Index index);

  std::vector<SharedLink> links_;
  std::vector<Flow> flows_;
  std::vector<Index> asked_;  ///< links
  std::vector<Index> added_;  ///< flows, or those with other limits
  std::vector<std::size_t> changed_;
  std::uint64_t attempts_ = 0;
  std::vector<Index> reached_;  ///< flows
  std::vector<Index> partly_;   ///< links
  std::vector<Stop> stops_;     ///< a heap, the next one on top
};

}  // namespace syncopate
