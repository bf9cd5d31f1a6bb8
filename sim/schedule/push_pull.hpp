#pragma once

#include "schedule/schedules.hpp"

namespace syncopate {

/// A schedule that pushes every group of gradients when its time has come, pulls what the servers answer with, and ends a step
/// when all pulls are in; `grouping` is read, and servers update, not workers. MG-WFBP, Sec. 4.3, merges gradients for a server
/// as it does for an all-reduce. Throws InputError.
Schedule read_push_pull(Object& fields, const Cluster& cluster, Answer answer);

}  // namespace syncopate
