#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "collective/closed_form.hpp"
#include "collective/plan.hpp"

namespace syncopate {

/// Why a rank ended a collective when it did, if messages have their links for themselves: from some rank's start on, one thing after the
/// other.
struct PlanPath {
  enum class Kind { transfer, latency, reduce };
  struct Piece {
    Kind kind = Kind::transfer;
    int step = 0;     ///< of the plan ...
    int message = 0;  ///< ... the message there: it moves, or is on its way, or its receiver tells its sender that it may come
    Seconds length;
  };

  int origin = 0;  ///< whose start it was
  std::vector<Piece> pieces;
};

/// The path to the end of `rank`, by the recurrence that PlanTimes computes (whose ends it has but for rounding). Of several things that
/// end at once, the one is taken that brought data, then what the sender has done, then the receiver, then its node, then its notice.
/// `hop`: of a step's message.
PlanPath find_path(const Plan& plan, const std::function<Hop(int step, int message)>& hop, SecondsPerByte gamma, Bytes data,
                   double latency_factor, std::span<const Seconds> starts, int rank);

}  // namespace syncopate
