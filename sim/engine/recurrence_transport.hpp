#pragma once

#include <map>
#include <utility>
#include <vector>

#include "cluster/planned.hpp"
#include "engine/transport.hpp"

namespace syncopate {

/// A collective is the messages of its plan, no two of which share a link; its ends at all ranks follow from its starts by PlanTimes.
/// Per-message fidelity where one collective is in flight at a time, first come first served.
class RecurrenceTransport : public Transport {
 public:
  /// A lane stands for all ranks if there is only one. `shortcuts`: collectives from the same relative starts are computed once.
  RecurrenceTransport(int lanes, Communicator communicator, PlannedCollectives& planned, LatencyFactor latency_factor, bool shortcuts);

  int lanes() const override { return lanes_; }
  bool goes_on_at_once() const override { return true; }
  bool foresees() const override { return true; }
  void foresee(const Movement& movement, std::span<const Seconds> starts, std::span<Seconds> ends) override;
  /// Throws std::logic_error: it only foresees.
  std::optional<Seconds> start(const Movement& movement, int lane, Seconds now) override;

 private:
  /// The ends of a collective from some starts, relative to the first of these.
  struct Known {
    double latency_factor = 1.0;
    std::vector<Seconds> starts;
    std::vector<Seconds> ends;
  };

  static const Known* recall(const std::vector<Known>& known, double latency_factor, std::span<const Seconds> starts, Seconds first);

  int lanes_;
  Communicator communicator_;
  PlannedCollectives& planned_;
  LatencyFactor latency_factor_;
  bool shortcuts_;
  std::map<std::pair<Operation, Bytes>, std::vector<Known>> known_;
};

}  // namespace syncopate
