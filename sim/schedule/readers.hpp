#pragma once

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

/// An interval, a delay or a period: steps, an integer >= 1.
int read_steps(const Field& field);

/// Throws InputError for a schedule that sends messages between pairs of nodes on a cluster of regions.
void require_star(const Object& fields, const Cluster& cluster);

/// The longest delay, period or interval.
constexpr int most_steps_between = 10'000;

}  // namespace syncopate
