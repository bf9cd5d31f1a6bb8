#pragma once

#include "collective/closed_form.hpp"
#include "engine/streams/transport.hpp"

namespace syncopate {

/// A collective is one event, for all ranks at once, whose time depends on its bytes and on whether it starts the moment another one
/// ends: alpha-beta fidelity. Where several are in flight, their latencies pass at the same time and their transfers follow each other.
class ClosedFormTransport : public Transport {
 public:
  using Cost = std::function<CollectiveTime(const Movement&)>;

  /// The pieces of that time: pieces of latency, without jitter, and others that add up to the transfer.
  using Pieces = std::function<std::vector<PathPiece>(const Movement&)>;

  ClosedFormTransport(Cost cost, Pieces pieces) : cost_(std::move(cost)), pieces_(std::move(pieces)) {}

  int lanes() const override { return 1; }
  bool goes_on_at_once() const override { return true; }
  std::optional<Moment> start(const Movement& started, int lane, const Moment& now) override;
  bool takes_time(const Movement& movement) const override { return (host_time(movement) + cost_(movement).total()) > Seconds(0); }

 private:
  Cost cost_;
  Pieces pieces_;
  Moment transferred_;  ///< the end of the last transfer
  bool has_moved_ = false;
};

}  // namespace syncopate
