#pragma once

#include <cstdint>

#include "base/units.hpp"
#include "cluster/network.hpp"

namespace syncopate {

/// A lognormal factor of mean 1 for the latency of a job's collective, by its stream and its number there.
double latency_factor(double cv, std::uint64_t seed, int stream, std::size_t collective);

/// Which message it is, of those from one rank to another.
struct MessageName {
  static constexpr std::uint32_t from_peer = 0xffffffff;  ///< a `stream`, as the next ones are
  static constexpr std::uint32_t push = 0xfffffffe;
  static constexpr std::uint32_t pull = 0xfffffffd;
  std::uint32_t stream = 0;
  std::uint64_t number = 0;  ///< the collective's ticket, the message's round, how many pushes or pulls were before
  std::uint32_t part = 0;    ///< of a collective: the step of its plan ...
  std::uint32_t repeat = 0;  ///< ... and which time that comes
};

/// How long messages are on their way besides their transfer.
class MessageLatency {
 public:
  /// `draws`: false: all take their ways' mean.
  MessageLatency(Network& network, std::uint64_t seed, bool draws) : network_(network), seed_(seed), draws_(draws) {}

  bool draws() const { return draws_ && network_.latencies_vary(); }

  /// Of a way that has that latency on average.
  Seconds operator()(int from, int to, const MessageName& name, Seconds latency) const;
  /// As it is at that time, with that factor.
  Seconds at(int from, int to, const MessageName& name, Seconds time, double factor = 1.0) const;
  /// The mean of that.
  Seconds mean_at(int from, int to, Seconds time) const { return network_.path(from, to).latency_at(time); }

 private:
  Network& network_;
  std::uint64_t seed_;
  bool draws_;
};

}  // namespace syncopate
