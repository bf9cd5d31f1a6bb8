#include <fmt/format.h>

#include "base/choice.hpp"
#include "schedule/schedules.hpp"

namespace syncopate {

Schedule read_schedule(const Field& field, const Cluster& cluster) {
  if (field.json().is_string()) field.fail(fmt::format("an object such as {{\"name\": {}}}", field.json().dump()));
  Object fields(field);
  const ScheduleRow& row = choose(fields.at("name"), schedules());
  Schedule schedule = row.read(fields, cluster);
  schedule.name = row.name;
  fields.finish();
  return schedule;
}

}  // namespace syncopate
