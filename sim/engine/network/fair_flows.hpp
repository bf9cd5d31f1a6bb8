#pragma once

#include <boost/heap/d_ary_heap.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "cluster/network.hpp"
#include "collective/payload.hpp"
#include "engine/clock/clock.hpp"
#include "engine/network/fair_rates.hpp"
#include "engine/network/flows.hpp"

namespace syncopate {

/// Flows that share links max-min fairly (FairRates). They take no latency.
///
/// Flows that begin or end at the same instant (within `rounding`) change the others' rates once.
class FairFlows : public Flows {
 public:
  FairFlows(Network& network, Clock& clock);

  bool take_latency() const override { return false; }
  void start(const Transfer& transfer, const Moment& now, Ended ended) override;
  void widen(std::size_t link, int width) override;

 private:
  struct End {
    Seconds time;
    std::size_t flow = 0;

    /// For a heap with the next one on top.
    bool operator<(const End& other) const { return time > other.time; }
  };
  using Ends = boost::heap::d_ary_heap<End, boost::heap::arity<4>, boost::heap::mutable_<true>>;
  struct Flow {
    Ended ended;
    const Path* path = nullptr;  ///< null: the place is unused
    std::uint64_t number = 0;
    Bytes bytes;    ///< all of them
    Bytes left;     ///< bytes to move ...
    Seconds since;  ///< ... at this time
    Rate rate;      ///< 0 before links have been shared with it
    int alike = 1;
    Moment moved;  ///< since when the same link has limited it ...
    Why why{};     ///< ... which is this one
    int to = 0;
    SharedPayload payload{};
    Watched* watched = nullptr;  ///< may be null
    Ends::handle_type end;
  };

  /// Moves bytes over some links of a path, which stays where it is.
  void move(const Transfer& transfer, const Path& path, std::span<const std::size_t> links, const Moment& now, Ended ended);
  Rate bandwidth(std::size_t link) const;
  void change_links();
  void share_soon();
  void share();
  /// Another link may limit the flow from now on.
  void note_limit(Flow& flow, std::size_t index, Seconds now);
  /// Tells of a flow's new rate.
  void watch(Flow& flow, std::size_t index, bool is_new);
  void call_at_next_end();
  void end_flows();

  Network& network_;
  Clock& clock_;
  FairRates rates_;
  std::vector<Flow> flows_;
  std::vector<std::size_t> unused_;    ///< places in flows_
  std::map<std::size_t, int> widths_;  ///< by link; of others 1
  std::uint64_t started_ = 0;
  Ends ends_;
  std::vector<End> ended_;             ///< flows that end at this instant
  std::optional<Seconds> changed_at_;  ///< flows or bandwidths have changed then, and rates follow soon
  std::optional<Seconds> called_at_;   ///< when the clock calls for the next end
  std::uint64_t calls_ = 0;            ///< only the last one counts
};

}  // namespace syncopate
