#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/units.hpp"
#include "cluster/link.hpp"
#include "cluster/link_changes.hpp"
#include "cluster/link_kinds.hpp"
#include "cluster/platform.hpp"
#include "cluster/regions.hpp"
#include "cluster/topologies.hpp"
#include "collective/algorithms.hpp"
#include "collective/closed_form.hpp"
#include "collective/payload.hpp"
#include "collective/plan.hpp"

namespace syncopate {

/// Measured cost of one operation on M bytes over `ranks` ranks: a line T(M) = a + b·M, or points.
struct Fit {
  CostLine line;                            ///< given several points: the line through the first and the last, with a >= 0
  std::vector<MeasuredTime> points{};       ///< by growing bytes; empty if only the line is known
  std::vector<MeasuredTime> queued{};       ///< of one that starts the moment another one ends; empty: they take as long as others
  std::vector<MeasuredTime> two_at_once{};  ///< of two that start together, until both have ended; may be empty
  int ranks = 2;
  const Algorithm* algorithm = nullptr;
  bool carried = false;  ///< the cluster's link is another one than it was measured at
};

/// How the cluster's nodes are placed in the network.
struct Placement {
  enum class Kind {
    linear,     ///< node i at place i; on regions, region by region in the file's order
    by_region,  ///< region by region, in the order that makes a ring fastest
    nearest,    ///< on a platform: the next node is the nearest of those left; see order_by_distance
    random,
  };
  Kind kind = Kind::linear;
  std::uint64_t seed = 1;  ///< for Kind::random
};

/// Time on a node's processors.
struct Host {
  Seconds per_message;  ///< a parameter server: for each message received and each message sent
  HostTime collective;  ///< a rank: for each collective that it starts
};

/// The file format cluster/1: nodes and the network between them.
struct Cluster {
  std::string name;
  std::string source;  ///< where the figures come from
  int nodes = 1;
  int gpus_per_node = 1;
  Link link;                             ///< between two nodes; on regions, between two nodes of one region
  double link_efficiency = 1.0;          ///< the share of its nominal bandwidth that `link` has
  std::optional<LinkKind> link_kind{};   ///< that tells the efficiency of `link`, if one does
  double intra_efficiency = 1.0;         ///< of `intra_node`, likewise
  std::optional<LinkKind> intra_kind{};  ///< of `intra_node`
  LinkChanges link_changes{};
  bool has_link = true;   ///< false on regions of one node each: nothing inside a region takes time
  Link intra_node;        ///< between two GPUs of a node, if it has several
  SecondsPerByte reduce;  ///< time to add one byte of two gradients
  SecondsPerByte copy;    ///< time to copy one byte of gradients into or out of a merged buffer
  Host host;
  Protocol protocol;  ///< for collectives
  int nics = 1;       ///< network interfaces per node, each with its own link; `link` is their sum
  std::shared_ptr<const Topology> topology;
  /// Of `topology`, if that is one; `link` is then the slowest between neighbours in the nodes' order.
  std::shared_ptr<Platform> platform{};
  bool has_host_speeds = false;  ///< a platform's nodes compute as fast as their hosts' speeds say, relative to the first node
  Placement placement;
  /// Measured costs, of each operation by growing ranks; if there are any, the first operation's imply those of others.
  std::map<Operation, std::vector<Fit>> fits;
  std::optional<Regions> regions;
  std::optional<double> price{};  ///< per node and hour
  double latency_cv = 0.0;        ///< coefficient of variation of a lognormal factor on collectives' latencies

  /// All nodes are alike and share no links.
  bool is_star() const { return !regions && topology->name() == default_topology()->name(); }
  bool is_fitted() const { return !fits.empty(); }
  /// The bandwidth or latency of some link does.
  bool changes_with_time() const { return !link_changes.empty() || (regions && regions->change_with_time()); }
  /// One worker per GPU.
  int workers() const { return nodes * gpus_per_node; }
};

/// Whether some link has its kind's usual efficiency, of which there is more than one.
bool has_usual_share(const Cluster& cluster);

/// The cluster with another share of the nominal bandwidth, such as &LinkKind::low, where a link has its kind's usual one.
Cluster with_share(const Cluster& cluster, double LinkKind::*share);

/// Whether latencies of links or of collectives are random.
bool draws_latencies(const Cluster& cluster);

/// Reads and validates a cluster/1 value at `pointer` of a document. Throws InputError.
Cluster read_cluster(const Document& document, const std::string& pointer = "");

/// Scales the cluster's fits. Of each time, the part up to the line's `a` is latency, the rest is bandwidth, with the reduction.
void scale_fits(Cluster& cluster, double latency, double bandwidth);

/// Whether all-reduces of `algorithm` have a cost by the cluster's fits, if any. They have none if the fit is faster than the reduction of
/// its own algorithm alone: the time left for the link would be negative.
bool can_carry_fit(const Cluster& cluster, const Algorithm& algorithm);

/// Whether a link can be derived from the cluster's first fit, if any.
bool implies_link(const Cluster& cluster);

/// Whether the cluster gives a cost for the operation: by its links, by a fit of this operation, or by the link that the first fit implies.
bool knows_cost(const Cluster& cluster, Operation operation);

/// Cost of an operation over `ranks` ranks with one link each. The first of these that exists is used: fits of the operation, carried to
/// `algorithm` and `ranks` by closed forms; the link implied by the first operation's fits; the cluster's link. Requires can_carry_fit.
/// Measured points are only carried to their own algorithm; others get the line.
///
/// Of several fits, the nearest in ranks counts; between two, T(n) = (1 - w)·T1(n) + w·T2(n) with w = log(n/n1) / log(n2/n1).
CostCurve collective_cost(const Cluster& cluster, Operation operation, const Algorithm& algorithm, int ranks);

/// The same of one that starts the moment another one ends.
CostCurve queued_cost(const Cluster& cluster, Operation operation, const Algorithm& algorithm, int ranks);

/// The same of two of so many bytes each that start together, until both have ended, if all fits of the operation have measured it.
std::optional<CostCurve> two_at_once_cost(const Cluster& cluster, Operation operation, const Algorithm& algorithm, int ranks);

}  // namespace syncopate
