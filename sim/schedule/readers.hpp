#pragma once

#include "schedule/grouping.hpp"
#include "schedule/schedules.hpp"

namespace syncopate {

// One reader per schedule that is not merely a way to group gradients; each is in the file of its schedule.

Schedule read_ps_sgd(Object& fields, const Cluster& cluster);
Schedule read_asgd(Object& fields, const Cluster& cluster);
Schedule read_ssd_sgd(Object& fields, const Cluster& cluster);
Schedule read_downpour(Object& fields, const Cluster& cluster);
Schedule read_eamsgd(Object& fields, const Cluster& cluster);
Schedule read_dts(Object& fields, const Cluster& cluster);
Schedule read_sasgd(Object& fields, const Cluster& cluster);
Schedule read_lasgd(Object& fields, const Cluster& cluster);
Schedule read_sgp(Object& fields, const Cluster& cluster);

/// `servers`, `colocated`, `server_s_per_B` and `duplex`, which all schedules over parameter servers have.
ServerSetup read_servers(Object& fields, const Cluster& cluster);

/// `grouping`, by default one group per gradient.
GroupingFunction read_server_grouping(Object& fields);

/// Steps from one exchange to the next, an integer >= 1.
int read_interval(const Field& field);

/// Throws InputError for a schedule that sends messages between pairs of nodes on a cluster of regions.
void require_star(const Object& fields, const Cluster& cluster);

/// The longest delay, period or interval.
constexpr int most_steps_between = 10'000;

}  // namespace syncopate
