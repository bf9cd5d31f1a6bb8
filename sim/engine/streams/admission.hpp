#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/units.hpp"

namespace syncopate {

/// Names one posted collective: its position among those of its stream. Small, because programs keep hundreds per rank.
using Ticket = std::uint32_t;

/// How many collectives of a stream may be in flight; unlimited: as many as there are (DTS).
constexpr int unlimited = std::numeric_limits<int>::max();

/// How many bytes may be in flight at a time, what is in flight counting before compression.
struct Credit {
  Bytes bytes{};      ///< 0: no limit
  bool fits = false;  ///< what starts must not exceed what is left; else it is enough if something is left

  /// Whether so much may start beside what is in flight.
  bool allows(Bytes next, Bytes in_flight) const {
    if (bytes == Bytes(0)) return true;
    return fits ? next <= bytes - in_flight : in_flight < bytes;
  }
};

/// When a stream's collectives may start.
struct StreamRules {
  int channels = 1;           ///< >= 1, collectives in flight at a time at each rank
  bool by_priority = false;   ///< else in the order of posting
  Credit credit{};            ///< of each rank
  double participants = 1.0;  ///< the share of the ranks, in (0, 1], that a collective needs to start; the others' posts join the next

  /// Where not all are needed: how long a collective waits for all, from its first post on. A rank that posts when it has started has
  /// missed it, and takes over what the others have. Unset: it does not wait.
  std::optional<Seconds> deadline{};

  bool is_partial() const { return participants < 1.0; }
};

/// Which collective of a stream starts next, where. A lane is a rank, or all of them where they start together.
///
/// The order of the collectives is the stream's: every lane starts them in that order, each when it has posted it and has a channel
/// free. First come first served, it is the order of posting. By priority, it is decided when a lane has a channel free and what is next
/// there is open: it is the one of the least priority value among those that all lanes have posted, ties going by posting; where all that
/// wait have the same priority value it is the first of them, whoever has posted it. What has started is not interrupted. With a credit,
/// what comes next must also be allowed to start beside what the lane has in flight; else it waits, and what is posted meanwhile counts.
class Admission {
 public:
  Admission(int lanes, const StreamRules& rules);

  /// The one that the lane posts next: the n-th call of post() for a lane is about the collective n.
  Ticket next_to_post(int lane) const { return lane_at(lane).posted; }
  /// A lane has posted it, of so many bytes. True when, by priority, all lanes have now.
  bool post(int lane, double priority, Bytes bytes);

  /// What the lane may start now, if anything. Decides what is next in the order, if that is open.
  std::optional<Ticket> next(int lane);

  /// The lane starts what next() said.
  void start(int lane);
  /// One that the lane had started has ended there.
  void end(int lane, Ticket ticket);

  /// By priority: what the lane has started, in that order; some of it has ended.
  std::span<const Ticket> started(int lane) const { return {order_.data(), lane_at(lane).started}; }
  int in_flight(int lane) const { return lane_at(lane).in_flight; }
  /// By priority: so many have a place in the order.
  std::size_t decided() const { return order_.size(); }

  /// The lane has nothing in flight, and this one is next there once it has posted it.
  bool is_idle_before(int lane, Ticket ticket) const;

 private:
  struct Lane {
    Ticket posted = 0;   ///< all before this one
    Ticket started = 0;  ///< so many of the order
    int in_flight = 0;
    Bytes bytes{};  ///< in flight, where there is a credit
  };

  const Lane& lane_at(int lane) const { return lanes_[static_cast<std::size_t>(lane)]; }
  Lane& lane_at(int lane) { return lanes_[static_cast<std::size_t>(lane)]; }
  /// Whether the lane has a channel free, and credit left for it.
  bool may_start(const Lane& lane, Ticket ticket) const {
    return lane.in_flight < channels_ && (!has_credit() || credit_.allows(bytes_[ticket], lane.bytes));
  }
  bool has_credit() const { return credit_.bytes > Bytes(0); }
  /// What comes next in the order, if the lane may start it.
  void decide(const Lane& lane);

  std::vector<Lane> lanes_;
  int channels_;
  bool by_priority_;
  Credit credit_;
  std::vector<Bytes> bytes_;  ///< of what has been posted, where there is a credit
  // By priority only:
  struct Posted {
    double priority;
    std::size_t lanes;
  };
  std::vector<Posted> posted_;                 ///< what some lane has posted, and how many have
  std::set<Ticket> pending_;                   ///< of that, what has no place in the order ...
  std::map<double, std::size_t> priorities_;   ///< ... how often which priority is among it ...
  std::set<std::pair<double, Ticket>> ready_;  ///< ... and what all lanes have posted
  std::vector<Ticket> order_;
};

}  // namespace syncopate
