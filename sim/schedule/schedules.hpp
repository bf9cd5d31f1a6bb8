#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.hpp"
#include "collective/cost.hpp"
#include "engine/worker.hpp"
#include "trace/step_profile.hpp"

namespace syncopate {

/// What a schedule may know before it runs: the undisturbed step, the cost of an all-reduce over all ranks, their number.
struct ScheduleInput {
  const StepProfile& profile;
  CostLine all_reduce;
  int ranks = 1;
};

/// A schedule whose parameters have been read and validated.
struct Schedule {
  std::string name;
  std::function<Program(const ScheduleInput&)> make;
  int cycle = 1;               ///< steps after which its pattern repeats; warm-up and measured steps are whole cycles
  bool waits_for_all = false;  ///< every wait is for a collective of all ranks, so that equal workers move in lock-step
};

/// One row of the table of schedules.
struct ScheduleRow {
  std::string_view name;
  std::string_view meaning;
  std::string_view parameters;  ///< for people: name, default
  Schedule (*read)(Object& fields);
};

/// The table: to add a schedule, write its file and add a row.
std::span<const ScheduleRow> schedules();

/// Names that the design gives to schedules which do not exist yet; a scenario that asks for one is told so.
std::vector<std::string> schedules_not_built_yet();

/// Reads a scenario's `schedule` object. Throws InputError.
Schedule read_schedule(const Field& field);

}  // namespace syncopate
