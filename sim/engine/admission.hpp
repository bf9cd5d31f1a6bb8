#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace syncopate {

/// Names one posted collective: its position among those of its stream. Small, because programs keep hundreds per rank.
using Ticket = std::uint32_t;

/// How many collectives of a stream may be in flight; unlimited: as many as there are (DTS).
constexpr int unlimited = std::numeric_limits<int>::max();

/// When a stream's collectives may start.
struct StreamRules {
  int channels = 1;           ///< >= 1, collectives in flight at a time at each rank
  bool by_priority = false;   ///< else in the order of posting
  double participants = 1.0;  ///< the share of the ranks, in (0, 1], that a collective needs to start; the others' posts join the next

  bool is_partial() const { return participants < 1.0; }
};

/// Which collective of a stream starts next, where. A lane is a rank, or all of them where they start together.
///
/// The order of the collectives is the stream's: every lane starts them in that order, each when it has posted it and has a channel
/// free. First come first served, it is the order of posting. By priority, it is decided when a lane has a channel free and what is next
/// there is open: it is the one of the least priority value among those that all lanes have posted, ties going by posting; where all that
/// wait have the same priority value it is the first of them, whoever has posted it. What has started is not interrupted.
class Admission {
 public:
  Admission(int lanes, int channels, bool by_priority);

  /// The one that the lane posts next: the n-th call of post() for a lane is about the collective n.
  Ticket next_to_post(int lane) const { return lane_at(lane).posted; }
  /// A lane has posted it. True when, by priority, all lanes have now.
  bool post(int lane, double priority);

  /// What the lane may start now, if anything. Decides what is next in the order, if that is open.
  std::optional<Ticket> next(int lane);

  /// The lane starts what next() said.
  void start(int lane);
  /// One that the lane had started has ended there.
  void end(int lane);

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
  };

  const Lane& lane_at(int lane) const { return lanes_[static_cast<std::size_t>(lane)]; }
  Lane& lane_at(int lane) { return lanes_[static_cast<std::size_t>(lane)]; }
  void decide();

  std::vector<Lane> lanes_;
  int channels_;
  bool by_priority_;
  // By priority only:
  struct Pending {
    Ticket ticket;
    double priority;
  };
  std::vector<Pending> pending_;        ///< posted by some lane, without a place in the order; in the order of posting
  std::vector<std::size_t> posted_by_;  ///< per collective that some lane has posted: so many lanes
  std::vector<Ticket> order_;
};

}  // namespace syncopate
