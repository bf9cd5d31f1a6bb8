#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "collective/closed_form.hpp"
#include "collective/plan.hpp"

namespace syncopate {

/// The critical path of one rank's collective: the sequence of delays from some rank's start to this rank's end. It holds if no messages
/// share links.
struct PlanPath {
  enum class Kind { transfer, latency, reduce };
  struct Piece {
    Kind kind = Kind::transfer;
    int step = 0;     ///< of the plan
    int message = 0;  ///< of the step. Kind::latency is the message's latency, or that of its receiver's notice
    Seconds length;
  };

  int origin = 0;  ///< the rank whose start begins the path
  std::vector<Piece> pieces;
};

/// The path to the end of `rank`. It uses PlanTimes' recurrence; ends are equal up to rounding. Ties are resolved in this order: arrival of
/// data, the sender's previous message, the receiver's previous message, the node's barrier, the notice. `hop`: link of a message in a
/// step.
PlanPath find_path(const Plan& plan, const std::function<Hop(int step, int message)>& hop, SecondsPerByte gamma, Bytes data,
                   double latency_factor, std::span<const Seconds> starts, int rank);

}  // namespace syncopate
