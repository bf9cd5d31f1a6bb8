#pragma once

#include <map>
#include <utility>
#include <vector>

#include "base/indexed.hpp"
#include "cluster/planned.hpp"
#include "engine/streams/transport.hpp"

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
  void foresee(const Movement& movement, const Moments& starts, Moments& ends) override;
  /// Throws std::logic_error: it only foresees.
  std::optional<Moment> start(const Movement& movement, int lane, const Moment& now) override;

 private:
  class ForeseenEvent;
  /// A collective of which causes are wanted.
  struct Foreseen {
    Movement movement;
    double latency_factor = 1.0;
    Moments starts;  ///< by lane
  };

  /// From when messages may go at each lane.
  void play(const Movement& movement, const Moments& starts, Moments& ends);
  Event::Story tell(const Foreseen& foreseen, int lane, Seconds end);
  Indexed<Seconds> ends(const Movement& movement, double latency_factor, const std::vector<Seconds>& starts);
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
