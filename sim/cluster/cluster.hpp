#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/units.hpp"
#include "cluster/regions.hpp"
#include "cluster/topologies.hpp"
#include "collective/algorithms.hpp"
#include "collective/closed_form.hpp"

namespace syncopate {

/// A measured all-reduce line T(M) = a + b·M over `ranks` ranks, or measured times.
struct Fit {
  CostLine line;                       ///< of several points, that through the first and the last, but for a >= 0
  std::vector<MeasuredTime> points{};  ///< in the order of bytes, where they are known
  int ranks = 2;
  const Algorithm* algorithm = nullptr;
};

/// Which place of the network each node has.
struct Placement {
  enum class Kind {
    linear,     ///< node i at place i; on regions, region after region as in the file
    by_region,  ///< region after region in the order in which a ring is fastest
    random,
  };
  Kind kind = Kind::linear;
  std::uint64_t seed = 1;  ///< of `random`
};

/// The file format cluster/1: nodes and the network between them.
struct Cluster {
  std::string name;
  std::string source;  ///< where its figures come from, for people
  int nodes = 1;
  int gpus_per_node = 1;
  Link link;              ///< between two nodes; on regions, of the same region
  bool has_link = true;   ///< false, on regions of one node each: what does not leave a region takes no time
  Link intra_node;        ///< between two GPUs of a node, where there are several
  SecondsPerByte reduce;  ///< time to add one byte of two gradients
  SecondsPerByte copy;    ///< time to copy one byte of gradients into a merged buffer, or out of it
  int nics = 1;           ///< network interfaces per node, each with a link of its own; `link` is all of them together
  std::shared_ptr<const Topology> topology;
  Placement placement;
  std::optional<Fit> fit;
  std::optional<Regions> regions;
  double latency_cv = 0.0;  ///< collectives' latencies vary: coefficient of variation of a lognormal factor

  /// One per GPU.
  int workers() const { return nodes * gpus_per_node; }
};

/// Reads and validates a cluster/1 value at `pointer` of a document. Throws InputError.
Cluster read_cluster(const Document& document, const std::string& pointer = "");

/// Whether the cluster's fit, if it has one, can be carried to `algorithm`: it cannot when it is faster than its own
/// algorithm's reduction alone, which leaves a negative time for the link.
bool can_carry_fit(const Cluster& cluster, const Algorithm& algorithm);

/// Whether a link can be derived from the cluster's fit, if it has one.
bool implies_link(const Cluster& cluster);

/// What an all-reduce over `ranks` ranks with a link each costs: from the cluster's fit, carried by the algorithms' closed
/// forms, else from its link. Requires can_carry_fit. Measured points are carried to their own algorithm only; others have their line.
CostCurve all_reduce_cost(const Cluster& cluster, const Algorithm& algorithm, int ranks);

}  // namespace syncopate
