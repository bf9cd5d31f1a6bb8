#pragma once

#include <cstdint>

#include "base/units.hpp"
#include "cluster/network.hpp"

namespace syncopate {

/// A lognormal factor of mean 1 on the latency of a job's collective, for its stream and its number there.
double latency_factor(double cv, std::uint64_t seed, int stream, std::size_t collective);

/// Names a message among those from one rank to another, so that its latency can be drawn.
struct MessageName {
  // Values of `stream` for messages of no stream:
  static constexpr std::uint32_t from_peer = 0xffffffff;
  static constexpr std::uint32_t push = 0xfffffffe;
  static constexpr std::uint32_t pull = 0xfffffffd;
  std::uint32_t stream = 0;
  std::uint64_t number = 0;  ///< the collective's ticket; the peer's round; how many pushes or pulls came before
  std::uint32_t part = 0;    ///< of a collective: the step of its plan ...
  std::uint32_t repeat = 0;  ///< ... and the repeat of that step
};

/// The latencies of messages, which vary where the network's do.
class MessageLatency {
 public:
  /// `draws`: false: all messages have the mean latencies of their ways.
  MessageLatency(Network& network, std::uint64_t seed, bool draws) : network_(network), seed_(seed), draws_(draws) {}

  bool draws() const { return draws_ && network_.latencies_vary(); }

  /// A message's latency, on a way whose mean latency is `latency`.
  Seconds operator()(int from, int to, const MessageName& name, Seconds latency) const;
  /// The same, on a way whose mean latency is `factor` times the network's at that time.
  Seconds at(int from, int to, const MessageName& name, Seconds time, double factor = 1.0) const;
  /// The mean latency of the way from rank to rank at that time.
  Seconds mean_at(int from, int to, Seconds time) const { return network_.path(from, to).latency_at(time); }

 private:
  Network& network_;
  std::uint64_t seed_;
  bool draws_;
};

}  // namespace syncopate
