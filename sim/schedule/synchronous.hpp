#pragma once

#include "schedule/grouping.hpp"
#include "schedule/schedule.hpp"

namespace syncopate {

/// Synchronous data parallelism: in every step each group of gradients is all-reduced when it is ready, and the next step waits for all of
/// them.
ScheduleRow synchronous(const GroupingRow& grouping);

}  // namespace syncopate
