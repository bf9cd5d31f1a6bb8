#include "schedule/schedules.hpp"

#include "schedule/synchronous.hpp"

namespace syncopate {

// Each is in the file of this name, or in the file of the schedule that it varies.
ScheduleRow ps_sgd();
ScheduleRow asgd();
ScheduleRow dc_asgd();
ScheduleRow ssd_sgd();
ScheduleRow downpour();
ScheduleRow eamsgd();
ScheduleRow dts();
ScheduleRow sasgd();
ScheduleRow local_sgd();
ScheduleRow lasgd();
ScheduleRow sgp();
ScheduleRow d_psgd();
ScheduleRow ad_psgd();
ScheduleRow bytescheduler();
ScheduleRow p3();
ScheduleRow dear();
ScheduleRow fsdp();
ScheduleRow zero();
ScheduleRow diloco();

const std::vector<ScheduleRow>& schedules() {
  static const std::vector<ScheduleRow> table = [] {
    std::vector<ScheduleRow> rows;
    for (const GroupingRow& grouping : groupings()) rows.push_back(synchronous(grouping));
    rows.insert(rows.end(), {
                                ps_sgd(), asgd(),   dc_asgd(), ssd_sgd(),       downpour(), eamsgd(), dts(),  sasgd(), local_sgd(), lasgd(),
                                sgp(),    d_psgd(), ad_psgd(), bytescheduler(), p3(),       dear(),   fsdp(), zero(),  diloco(),
                            });
    return rows;
  }();
  return table;
}

}  // namespace syncopate
