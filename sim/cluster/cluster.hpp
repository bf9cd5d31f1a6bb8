#pragma once

#include <optional>
#include <string>

#include "base/document.hpp"
#include "base/units.hpp"
#include "cluster/topologies.hpp"
#include "collective/collectives.hpp"
#include "collective/cost.hpp"

namespace syncopate {

/// A network link between two nodes; `latency` is end to end.
struct Link {
  Rate bandwidth;
  Seconds latency;
};

/// A measured all-reduce line T(M) = a + b·M over `ranks` ranks.
struct Fit {
  CostLine line;
  int ranks = 2;
  const Collective* algorithm = nullptr;
};

/// The file format cluster/1: nodes and the network between them.
struct Cluster {
  std::string name;
  std::string source;  ///< where its figures come from, for people
  int nodes = 1;
  Link link;
  SecondsPerByte reduce;  ///< time to add one byte of two gradients
  const Topology* topology = nullptr;
  std::optional<Fit> fit;

  /// Workers: one per node until nodes may hold several GPUs.
  int workers() const { return nodes; }
};

/// Reads and validates a cluster/1 value at `pointer` of a document. Throws InputError.
Cluster read_cluster(const Document& document, const std::string& pointer = "");

/// Whether the cluster's fit, if it has one, can be carried to `algorithm`: it cannot when it is faster than its own
/// algorithm's reduction alone, which leaves a negative time for the link.
bool can_carry_fit(const Cluster& cluster, const Collective& algorithm);

/// What an all-reduce over `ranks` ranks costs in alpha-beta fidelity: from the cluster's fit, carried by the
/// algorithms' closed forms, else from its link. `a` and `b` of merging schedules and of the engine are these.
/// Requires can_carry_fit.
CostLine all_reduce_cost(const Cluster& cluster, const Collective& algorithm, int ranks);

}  // namespace syncopate
