#pragma once

#include "engine/worker.hpp"
#include "schedule/grouping.hpp"

namespace syncopate {

/// Synchronous data parallelism: in every step each group of gradients is all-reduced when its time has come, and the next
/// step waits for the last one.
Program synchronous(const GroupingFunction& group, const StepProfile& profile, const CostLine& all_reduce);

}  // namespace syncopate
