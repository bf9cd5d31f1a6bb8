#pragma once

#include "base/fields.hpp"
#include "cluster/cluster.hpp"
#include "engine/server_links.hpp"
#include "schedule/grouping.hpp"
#include "schedule/schedules.hpp"

namespace syncopate {

/// What all schedules over parameter servers have in common, with `servers`, `colocated`, `server_s_per_B` and `duplex` read: nodes
/// are its ranks, and there is no all-reduce. Throws InputError.
Schedule read_server_schedule(Object& fields, const Cluster& cluster);

/// Learners that make `interval` local steps between exchanges, which is read, and do not wait for each other. Throws InputError.
Schedule read_learners(Object& fields, const Cluster& cluster, Program (*program)(int interval, const ScheduleInput& input));

/// `grouping`, by default one group per gradient. Throws InputError.
GroupingFunction read_server_grouping(Object& fields);

/// The servers that a schedule wants, on the cluster's links. In a node of g GPUs, half of a ring among these reduces what is
/// pushed, the other half spreads what is pulled.
ServerSetup place_servers(ServerSetup setup, const Cluster& cluster);

/// A push and its pull, when all clients do the same at the same time: what merging schedules reckon with (MG-WFBP, Sec. 4.3).
CostLine push_pull_cost(const ServerSetup& setup, int clients);

}  // namespace syncopate
