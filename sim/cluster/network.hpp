#pragma once

#include <cstdint>
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
  std::vector<std::size_t> links;  ///< numbers of the Network's links, in the order in which it crosses them
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
    std::string name;  ///< as link() says
    simgrid::s4u::Link* link = nullptr;
    double bandwidth = 0.0;  ///< in SimGrid's units
  };

  /// `region_order`: see regions_of_nodes; used where nodes are placed by region. `largest`: no message has more bytes.
  Network(const Cluster& cluster, int ranks_per_node, int servers, const std::vector<std::size_t>& region_order, Bytes largest);
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  ~Network();

  /// The way from one rank (or server) to another one; it is kept.
  const Path& path(int from, int to);
  /// The same, found anew.
  Path find_path(int from, int to);
  /// Its latency and bandwidth only.
  Hop hop(int from, int to);

  int server_rank(int server) const { return (cluster_.nodes + server) * ranks_per_node_; }

  // Links have the numbers below count_links(), in the order in which paths have crossed them first.

  std::size_t count_links() const { return links_.size(); }
  NetworkLink link(std::size_t number) const;
  Rate bandwidth(std::size_t link) const;
  /// Its bandwidth changes with time.
  bool changes(std::size_t link) const { return links_[link].kind == KnownLink::Kind::other && others_[links_[link].number].changes; }

  /// Nodes have no links in common, and all of them are alike: on a star.
  bool is_star() const { return is_star_; }

  /// Some link's bandwidth changes with time.
  bool changes_with_time() const;

  /// Makes SimGrid's platform, in whose engine the simulation then runs, unless it is there. SimGrid adds nothing to it once a
  /// simulation runs.
  void build();
  bool is_built() const { return !hosts_.empty(); }
  /// Ways are found without a platform: on a star, over regions and where the topology knows them.
  bool knows_its_paths() const { return is_star_ || cluster_.regions || cluster_.topology->knows_routes(); }
  /// What is to happen to its links, after build().
  const std::vector<Change>& changes() const { return changes_; }
  /// The hosts of the two ends of a message, after build().
  std::pair<simgrid::s4u::Host*, simgrid::s4u::Host*> hosts(int from, int to) const;
  /// SimGrid counts whole bytes: so many of its bytes are one.
  double scale() const { return scale_; }

 private:
  /// Every node's and GPU's own link is known by its number, so that a million of them take no names.
  struct KnownLink {
    enum class Kind : std::uint8_t { node, gpu, other };
    Kind kind = Kind::node;
    bool forward = true;  ///< away from it
    std::uint32_t number = 0;
  };
  static constexpr std::uint32_t none = 0xffffffff;

  int node_of(int rank) const { return rank / ranks_per_node_; }
  int place_of(int rank) const { return places_[static_cast<std::size_t>(node_of(rank))]; }
  std::size_t region_of(int rank) const { return place_region_[static_cast<std::size_t>(place_of(rank))]; }
  Path path_inside_node(int from, int to);
  Path path_over_regions(int from, int to);
  Path path_between_switches(int from, int to);
  Path path_over_zone(int from, int to);
  Seconds latency_over(std::size_t links) const;
  std::size_t known_link(KnownLink::Kind kind, int number, bool forward);
  std::size_t node_link(int rank, bool up) { return known_link(KnownLink::Kind::node, node_of(rank), up); }
  std::size_t other_link(const std::string& cable, bool forward, Rate bandwidth, const std::string& name, bool changes = false);
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
  std::vector<KnownLink> links_;
  std::vector<std::uint32_t> node_links_;  ///< numbers of links, by node and direction; none: not crossed yet
  std::vector<std::uint32_t> gpu_links_;   ///< likewise by rank
  std::vector<NetworkLink> others_;
  std::unordered_map<std::string, std::size_t> other_links_;  ///< numbers of links, by name
  std::unordered_map<long, Path> paths_;
};

}  // namespace syncopate
