#pragma once

#include "collective/closed_form.hpp"
#include "engine/streams/transport.hpp"

namespace syncopate {

/// A collective is one event of a time that depends on its bytes alone, for all ranks at once: alpha-beta fidelity. Of several in flight
/// the latencies pass at the same time, the transfers follow each other.
class ClosedFormTransport : public Transport {
 public:
  using Cost = std::function<CollectiveTime(const Movement&)>;

  /// What the time consists of, but for the jitter of its latency: pieces of latency, and others that add up to the transfer.
  using Pieces = std::function<std::vector<PathPiece>(const Movement&)>;

  ClosedFormTransport(Cost cost, Pieces pieces) : cost_(std::move(cost)), pieces_(std::move(pieces)) {}

  int lanes() const override { return 1; }
  bool goes_on_at_once() const override { return true; }
  std::optional<Moment> start(const Movement& movement, int lane, const Moment& now) override;
  bool takes_time(const Movement& movement) const override { return cost_(movement).total() > Seconds(0); }

 private:
  Cost cost_;
  Pieces pieces_;
  Moment transferred_;  ///< the transfers before
};

}  // namespace syncopate
