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
#include "collective/payload.hpp"
#include "collective/plan.hpp"

namespace syncopate {

/// A measured line T(M) = a + b·M of an operation on vectors of M bytes over `ranks` ranks, or measured times.
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

/// What the processors of a node do for what moves, one after the other.
struct Host {
  Seconds per_message;     ///< of a parameter server: for each that it receives, and for each that it sends
  Seconds per_collective;  ///< of a rank: for each that it posts, before it can start
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
  Host host;
  Protocol protocol;  ///< of collectives
  int nics = 1;       ///< network interfaces per node, each with a link of its own; `link` is all of them together
  std::shared_ptr<const Topology> topology;
  Placement placement;
  std::optional<Fit> fit;               ///< of all-reduces
  std::optional<Fit> all_gather_fit{};  ///< where there is a `fit`
  std::optional<Regions> regions;
  std::optional<double> price{};  ///< of a node, per hour
  double latency_cv = 0.0;        ///< collectives' latencies vary: coefficient of variation of a lognormal factor

  /// Nodes have no links in common, and all of them are alike.
  bool is_star() const { return !regions && topology->name() == default_topology()->name(); }
  /// One per GPU.
  int workers() const { return nodes * gpus_per_node; }
};

/// Whether the latencies of its links, or of collectives on it, are drawn at random.
bool draws_latencies(const Cluster& cluster);

/// Reads and validates a cluster/1 value at `pointer` of a document. Throws InputError.
Cluster read_cluster(const Document& document, const std::string& pointer = "");

/// Whether the cluster's fit, if it has one, can be carried to `algorithm`: it cannot when it is faster than its own
/// algorithm's reduction alone, which leaves a negative time for the link.
bool can_carry_fit(const Cluster& cluster, const Algorithm& algorithm);

/// Whether a link can be derived from the cluster's fit, if it has one.
bool implies_link(const Cluster& cluster);

/// Whether the cluster says what the operation costs: by its links, a fit of its own, or the link that the fit implies.
bool knows_cost(const Cluster& cluster, Operation operation);

/// What an operation over `ranks` ranks with a link each costs: from a fit of it, carried by the algorithms' closed forms, else from the
/// link that the cluster's fit of all-reduces implies, or from its link. Requires can_carry_fit. Measured points are carried to their own
/// algorithm only; others have their line.
CostCurve collective_cost(const Cluster& cluster, Operation operation, const Algorithm& algorithm, int ranks);

}  // namespace syncopate
