#pragma once

#include "schedule/grouping.hpp"
#include "schedule/schedule.hpp"

namespace syncopate {

/// Synchronous data parallelism: in every step each group of gradients is all-reduced when its time has come, and the next
/// step waits for the last one.
ScheduleRow synchronous(const GroupingRow& grouping);

}  // namespace syncopate
