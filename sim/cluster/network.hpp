#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/cluster.hpp"

namespace simgrid::s4u {
class Host;
class Link;
}  // namespace simgrid::s4u

namespace syncopate {

/// One direction of a cable between two ends.
struct NetworkLink {
  std::string name;
  Rate bandwidth;
  std::string cable;     ///< the same for both directions
  bool forward = true;   ///< which of them
  bool changes = false;  ///< its bandwidth, with time
};

/// The way of a message.
struct Path {
  std::vector<std::size_t> links;  ///< indices into Network::links(), in the order in which it crosses them
  Seconds latency;
  Rate rate;  ///< of a flow that has it for itself

  Hop hop() const { return {latency, inverse(rate)}; }
};

/// The network between a job's ranks (the GPUs of every node, or every node) and its parameter servers. Ranks of one node have
/// links of their own to each other; others meet in the nodes' network.
///
/// A rank's number divided by the ranks per node is its node's; servers are nodes after the last one of a rank.
class Network {
 public:
  /// From a time on, SimGrid's link has another bandwidth.
  struct Change {
    Seconds at;
    std::string name;  ///< as in links()
    simgrid::s4u::Link* link = nullptr;
    double bandwidth = 0.0;  ///< in SimGrid's units
  };

  /// `region_order`: see regions_of_nodes; used where nodes are placed by region. `largest`: no message has more bytes.
  Network(const Cluster& cluster, int ranks_per_node, int servers, const std::vector<std::size_t>& region_order, Bytes largest);
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  ~Network();

  /// The way from one rank (or server) to another one.
  const Path& path(int from, int to);

  int server_rank(int server) const { return (cluster_.nodes + server) * ranks_per_node_; }

  /// Those that paths have crossed so far.
  const std::vector<NetworkLink>& links() const { return links_; }

  /// Nodes have no links in common, and all of them are alike: on a star.
  bool is_star() const { return is_star_; }

  /// Some link's bandwidth changes with time.
  bool changes_with_time() const;

  /// Makes SimGrid's platform, in whose engine the simulation then runs, unless it is there. SimGrid adds nothing to it once a
  /// simulation runs.
  void build();
  bool is_built() const { return !hosts_.empty(); }
  /// Ways are found without a platform: on a star and over regions.
  bool knows_its_paths() const { return is_star_ || cluster_.regions.has_value(); }
  /// What is to happen to its links, after build().
  const std::vector<Change>& changes() const { return changes_; }
  /// The hosts of the two ends of a message, after build().
  std::pair<simgrid::s4u::Host*, simgrid::s4u::Host*> hosts(int from, int to) const;
  /// SimGrid counts whole bytes: so many of its bytes are one.
  double scale() const { return scale_; }

 private:
  int node_of(int rank) const { return rank / ranks_per_node_; }
  Path find_path(int from, int to);
  Path path_inside_node(int from, int to);
  Path path_over_regions(int from, int to);
  Path path_over_zone(int from, int to);
  std::size_t link(const std::string& cable, bool forward, Rate bandwidth, const std::string& name);
  std::size_t node_link(int node, bool up);
  void build_regions();
  void build_insides();

  const Cluster& cluster_;
  int ranks_per_node_;
  int nodes_;  ///< with servers
  bool is_star_;
  std::vector<int> places_;                ///< of the nodes
  std::vector<std::size_t> place_region_;  ///< of the places, on regions
  double scale_;
  std::vector<Change> changes_;
  std::vector<simgrid::s4u::Host*> hosts_;   ///< by place
  std::vector<simgrid::s4u::Host*> inside_;  ///< by rank
  std::vector<NetworkLink> links_;
  std::unordered_map<std::string, std::size_t> link_ids_;  ///< by cable and direction
  std::unordered_map<long, Path> paths_;
};

}  // namespace syncopate
