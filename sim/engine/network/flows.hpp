#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/units.hpp"
#include "cluster/network.hpp"
#include "collective/payload.hpp"
#include "engine/clock/clock.hpp"
#include "timeline/timeline.hpp"

namespace syncopate {

/// What flows that know it tell of a transfer.
struct Watched {
  Rate slowest = infinite_bandwidth;  ///< its least rate ...
  int link = -1;                      ///< ... and the network's link that held it back then; -1: not known
  std::vector<RateChange> changes{};  ///< of its rate; none where the path stores messages on their way
};

/// A message that moves over a network.
struct Transfer {
  Network* network = nullptr;  ///< of its job, with the same links as that of all flows
  int from = 0;                ///< rank or server ...
  int to = 0;
  Bytes bytes;        ///< of all that are alike
  Seconds latency{};  ///< its own, for flows that take it
  SharedPayload payload{};
  int alike = 1;               ///< so many that do the same at the same time move as one
  Watched* watched = nullptr;  ///< written until the transfer has ended; may be null

  const Path& path() const { return network->path(from, to); }
};

/// How messages that meet share links.
///
/// | class | how |
/// |---|---|
/// | `FairFlows` | max-min fairly |
/// | `SimGridFlows` | as communications in SimGrid, by its network models |
class Flows {
 public:
  using Ended = std::function<void(const Moment&)>;

  Flows() = default;
  Flows(const Flows&) = delete;
  Flows& operator=(const Flows&) = delete;
  virtual ~Flows() = default;

  /// Whether a flow begins with its latency. If not, whoever sends a message adds it.
  virtual bool take_latency() const = 0;

  /// The transfer begins at `now`, the clock's time but for a rounding error. `ended` is called when its bytes have moved; transfers that
  /// end at the same instant are told of in the order in which they started. Where the path stores messages on their way, the bytes move
  /// there first, then on.
  virtual void start(const Transfer& transfer, const Moment& now, Ended ended) = 0;

  /// The link stands for so many, each with its own of the transfers that are alike. To be called before the first transfer over it starts.
  virtual void widen(std::size_t link, int width) = 0;
};

}  // namespace syncopate
