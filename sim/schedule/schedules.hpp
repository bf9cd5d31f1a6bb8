#pragma once

#include <vector>

#include "schedule/schedule.hpp"

namespace syncopate {

/// The table: to add a schedule, write its file and add a row.
const std::vector<ScheduleRow>& schedules();

}  // namespace syncopate
