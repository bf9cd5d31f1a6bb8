#pragma once

#include <array>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "collective/closed_form.hpp"

namespace syncopate {

/// Times of messages between servers and their clients, by growing size, the same sizes in each list. Every client moves so many bytes, an
/// equal part of them to or from each server. A time ends with the last of all ranks.
struct MeasuredServers {
  int servers = 0;
  int clients = 0;
  std::vector<MeasuredTime> push{};  ///< clients send, servers add up
  std::vector<MeasuredTime> pull{};  ///< servers send
  std::vector<MeasuredTime> both{};  ///< at a time
  /// A push and a pull of the smallest size by one client, while the others do nothing; nothing if not measured.
  std::optional<std::array<Seconds, 2>> of_one{};
};

/// How much of the shorter one of a push and a pull passes beside the other one: 0 where they take turns, 1 where they do not disturb each
/// other. `index`: of the size.
double overlap_of(const MeasuredServers& measured, std::size_t index);

/// What the times tell of a schedule's parameters and of the servers' host. The overlap is the median over sizes that take at least half as
/// long as the largest one. A time per byte is the median slope from the largest size to those that take at least a quarter as long.
struct ServerTimes {
  bool is_long_enough = false;  ///< whether the largest messages take at least twice as long as the smallest ones; else nothing is known
  double overlap = 1.0;
  bool duplex = true;   ///< whether that is at least half
  Rate link;            ///< of a server's link in pulls, or of a client's where there are more servers
  SecondsPerByte work;  ///< a server's, for each byte of its share of a push; 0 where pushes are no slower than pulls
  /// A server's, for a push and for a pull each: what the smallest ones take longer for each further client, but for their bytes. 0 where
  /// that is hardly anything, or not known.
  Seconds per_message;
};
ServerTimes conclude(const MeasuredServers& measured);

}  // namespace syncopate
