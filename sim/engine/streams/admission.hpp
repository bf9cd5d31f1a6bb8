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

#include "base/indexed.hpp"
#include "base/units.hpp"

namespace syncopate {

/// Names one posted collective: its position among those of its stream. Small, because programs keep hundreds per rank.
using Ticket = std::uint32_t;

/// As many collectives of a stream in flight as there are (DTS).
constexpr int unlimited = std::numeric_limits<int>::max();

/// How many bytes may be in flight at a time, counted before compression.
struct Credit {
  Bytes bytes{};      ///< 0: no limit
  bool fits = false;  ///< a collective starts if it is no larger than what is left; else if anything is left

  /// Whether `next` may start beside what is in flight.
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
  double participants = 1.0;  ///< the share of the ranks, in (0, 1], that a collective needs to start; later posts join the next one

  /// Where not all ranks are needed: how long a collective waits for all of them, from its first post on. A rank that posts when it has
  /// started has missed it, and takes over the others' result. Unset: it does not wait.
  std::optional<Seconds> deadline{};

  bool is_partial() const { return participants < 1.0; }
};

/// Which collective of a stream starts next at which lane. A lane is a rank, or all ranks where they start together.
///
/// All lanes start the stream's collectives in one order; a lane starts the next one when it has posted it and has a channel free.
/// - First come first served, the order is that of posting.
/// - By priority, the next place in the order is decided when a lane that has started all before it has a channel free. It goes to the
///   collective of the least priority value among those that all lanes have posted; of equal ones, to the one posted first. Where all
///   waiting collectives have the same priority value, it goes to the first of them, whichever lanes have posted it.
///
/// A collective that has started is not interrupted. With a credit, the next collective must also fit beside what the lane has in flight.
/// Until it does, it waits and by priority its place stays open.
class Admission {
 public:
  Admission(int lanes, const StreamRules& rules);

  /// The collective that the lane posts next: the n-th call of post() for a lane, from 0, posts the collective n.
  Ticket next_to_post(int lane) const { return lanes_[lane].posted; }
  /// A lane posts its next collective, of so many bytes. By priority, true when all lanes have posted it now.
  bool post(int lane, double priority, Bytes bytes);

  /// The collective that the lane may start now, if any. Decides the next place in the order if that is open.
  std::optional<Ticket> next(int lane);

  /// The lane starts the collective that next() has returned.
  void start(int lane);
  /// A collective that the lane has started has ended there.
  void end(int lane, Ticket ticket);

  /// By priority: the collectives that the lane has started, in the order; some of them have ended.
  std::span<const Ticket> started(int lane) const { return {order_.data(), lanes_[lane].started}; }
  int in_flight(int lane) const { return lanes_[lane].in_flight; }
  /// By priority: how many collectives have a place in the order.
  std::size_t decided() const { return order_.size(); }

  /// Whether the lane has nothing in flight, and this collective is next there once the lane has posted it.
  bool is_idle_before(int lane, Ticket ticket) const;

 private:
  struct Lane {
    Ticket posted = 0;   ///< how many it has posted
    Ticket started = 0;  ///< how many of the order it has started
    int in_flight = 0;
    Bytes bytes{};  ///< in flight, where there is a credit
  };

  /// Whether the lane has a channel free, and credit left for it.
  bool may_start(const Lane& lane, Ticket ticket) const {
    return lane.in_flight < channels_ && (!has_credit() || credit_.allows(bytes_[ticket], lane.bytes));
  }
  bool has_credit() const { return credit_.bytes > Bytes(0); }
  /// Decides the next place in the order, if the lane may start that collective.
  void decide(const Lane& lane);

  Indexed<Lane> lanes_;
  int channels_;
  bool by_priority_;
  Credit credit_;
  std::vector<Bytes> bytes_;  ///< by collective, where there is a credit
  // By priority only:
  struct Posted {
    double priority;
    std::size_t lanes;
  };
  std::vector<Posted> posted_;                 ///< by collective that any lane has posted: how many lanes have
  std::set<Ticket> pending_;                   ///< those of them without a place in the order ...
  std::map<double, std::size_t> priorities_;   ///< ... how many of these have which priority ...
  std::set<std::pair<double, Ticket>> ready_;  ///< ... and those of these that all lanes have posted
  std::vector<Ticket> order_;
};

}  // namespace syncopate
