#pragma once

#include "base/fields.hpp"
#include "cluster/cluster.hpp"
#include "engine/server_links.hpp"
#include "schedule/grouping.hpp"

namespace syncopate {

/// `servers`, `colocated`, `server_s_per_B` and `duplex`, which all schedules over parameter servers have. Throws InputError.
ServerSetup read_servers(Object& fields, const Cluster& cluster);

/// `grouping`, by default one group per gradient. Throws InputError.
GroupingFunction read_server_grouping(Object& fields);

/// The servers that a schedule wants, on the cluster's links. In a node of g GPUs, half of a ring among these reduces what is
/// pushed, the other half spreads what is pulled.
ServerSetup place_servers(ServerSetup setup, const Cluster& cluster);

/// A push and its pull, when all clients do the same at the same time: what merging schedules reckon with (MG-WFBP, Sec. 4.3).
CostLine push_pull_cost(const ServerSetup& setup, int clients);

}  // namespace syncopate
