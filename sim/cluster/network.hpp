#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster/cluster.hpp"
#include "cluster/known_links.hpp"
#include "cluster/placement.hpp"

namespace syncopate {

/// One direction of a cable between two ends.
struct NetworkLink {
  std::string name;  ///< begins with its level
  Rate bandwidth;
  std::string level;    ///< of the network, for people: "node", "server", "gpu", "wan", "uplink", "node-uplink", or the topology's
  std::string cable;    ///< the same for both directions
  bool forward = true;  ///< which of them
};

/// The way of a message.
struct Path {
  std::vector<std::size_t> links;  ///< numbers of the Network's links, in the order in which it crosses them
  Seconds latency;
  Rate rate;                        ///< of a flow that has it for itself, at first
  Rate limit = infinite_bandwidth;  ///< of any flow, whatever its links have, at first
  const Link* over = nullptr;       ///< the cluster's link that says how latencies vary, if any
  struct Storage {
    std::size_t after = 0;  ///< so many links all of a message is stored, and goes on
    Rate upload;            ///< likewise, before ...
    Rate download;          ///< ... and after that
  };
  std::optional<Storage> storage{};

  Hop hop() const { return {latency, inverse(rate)}; }
  /// Over the link of this number among its own.
  Rate rate_over(std::size_t link) const { return !storage ? rate : link < storage->after ? storage->upload : storage->download; }
  int connections() const { return over == nullptr ? 1 : over->connections; }
  bool latency_changes() const { return over != nullptr && !over->latency_changes.empty(); }
  /// From a time on.
  Seconds latency_at(Seconds time) const { return latency_changes() ? value_at(time, latency, over->latency_changes) : latency; }
  Rate limit_at(Seconds time) const { return latency_changes() ? over->limit(latency_at(time)) : limit; }
};

/// What one of several jobs on a cluster without regions has of its network.
struct NetworkShare {
  int job = 0;                          ///< its number: GPUs are a job's own, also on a node that others use
  std::vector<int> nodes;               ///< of the cluster, in the order of the job's ranks
  int servers_before = 0;               ///< nodes that servers of the jobs before it have for themselves
  int all_servers = 0;                  ///< those of all jobs
  std::shared_ptr<KnownLinks> links{};  ///< the same for all jobs, so that links have the same numbers
};

/// The network between a job's ranks (the GPUs of every node, or every node) and its parameter servers. Ranks of one node have
/// links of their own to each other; others meet in the nodes' network.
///
/// A rank's number divided by the ranks per node is its node's; servers with nodes of their own come after the last one of a rank.
class Network {
 public:
  /// `region_order`: see regions_of_nodes; used where nodes are placed by region.
  Network(const Cluster& cluster, int ranks_per_node, const ServerPlaces& servers, const std::vector<std::size_t>& region_order);
  /// A job's share of it. `cluster`: all of it.
  Network(const Cluster& cluster, NetworkShare share, int ranks_per_node, const ServerPlaces& servers);
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// The way from one rank (or server) to another one; it is kept.
  const Path& path(int from, int to);
  /// The same, found anew.
  Path find_path(int from, int to);
  /// Its latency and bandwidth only.
  Hop hop(int from, int to);
  /// The same, as if all nodes that are in one place had one switch: in any topology.
  Hop direct_hop(int from, int to);

  /// With those of the servers alone.
  int nodes() const { return nodes_; }
  int first_rank(int node) const { return node * ranks_per_node_; }

  /// Where the parameter servers are: the first rank of each one's node.
  const std::vector<int>& server_ranks() const { return server_ranks_; }

  // Links have the numbers below count_links(), in the order in which paths have crossed them first.

  std::size_t count_links() const { return links_->size(); }
  NetworkLink link(std::size_t number) const;
  /// At first.
  Rate bandwidth(std::size_t link) const;
  /// From a time on.
  Rate bandwidth(std::size_t link, Seconds time) const;
  /// For people: nodes' links before others, by the numbers of their ends, upwards before downwards.
  bool comes_before(std::size_t link, std::size_t other) const;
  // Links of one kind are a group.

  static constexpr int of_nodes = 0;     ///< between a node and the network
  static constexpr int inside_node = 1;  ///< between GPUs of one node
  static constexpr int of_switches = 2;  ///< between switches
  static constexpr int of_regions = 3;   ///< between regions, whichever; each pair is a group of its own, too, and so are uplinks
  /// Of a link; between two regions, that of the pair; that of a region's uplink, or of its nodes' own.
  int group(std::size_t link) const;
  /// Of what the way between two ranks takes longest for, besides bytes: that of the pair of their regions, or of their own links.
  int group_between(int from, int to) const;
  /// Of what limits a message that has the way between two ranks for itself: as `group_between`, or that of a narrower uplink.
  int narrowest_group(int from, int to) const;
  /// As a cluster's keys name it: "link", "intra_node", "wan", "wan A - B", "uplink A", "node_uplink A"; of switches "link" and the
  /// topology.
  std::string group_name(int group) const;

  /// Joins GPUs of one node.
  bool is_inside_node(std::size_t link) const { return (*links_)[link].kind == KnownLink::Kind::gpu; }
  /// Its bandwidth changes with time.
  bool changes(std::size_t link) const;
  /// When some link's bandwidth or latency changes, in order.
  std::vector<Seconds> times_of_changes() const;
  bool changes_with_time() const { return cluster_.regions && cluster_.regions->change_with_time(); }
  /// From message to message, on some way.
  bool latencies_vary() const { return latencies_vary_; }
  /// Likewise, on so many nodes, with those of the servers alone.
  static bool latencies_vary(const Cluster& cluster, int ranks_per_node, int nodes);

  /// Of a rank or server; on regions only.
  std::size_t region_of(int rank) const { return place_region_[static_cast<std::size_t>(place_of(rank))]; }
  /// Both ranks are on one node.
  bool share_node(int from, int to) const { return node_of(from) == node_of(to); }

  /// Nodes have no links in common, and all of them are alike: on a star.
  bool is_star() const { return is_star_; }

 private:
  void place_servers(const ServerPlaces& servers);
  int node_of(int rank) const { return rank / ranks_per_node_; }
  /// Of the cluster's.
  int whole_node_of(int rank) const { return share_.nodes[static_cast<std::size_t>(node_of(rank))]; }
  int place_of(int rank) const { return places_[static_cast<std::size_t>(whole_node_of(rank))]; }
  Path path_inside_node(int from, int to);
  Path path_over_regions(int from, int to);
  Path path_over_topology(int from, int to);
  int group_of_regions(std::size_t region, std::size_t other) const;
  int group_of_uplink(std::size_t region, bool of_node) const;
  std::size_t region_of_uplink(const KnownLink& node_uplink) const { return region_of(first_rank(static_cast<int>(node_uplink.number))); }
  bool is_of_server(const KnownLink& link) const { return static_cast<int>(link.number) >= cluster_.nodes; }
  /// A node's own one, then its region's, or the other way round.
  void cross_uplinks(int rank, bool up, std::vector<std::size_t>& links);
  Seconds latency_over(std::size_t links) const;
  /// As the link says how flows are limited, and latencies vary.
  static Path limited(Path path, const Link& link);
  std::size_t node_link(int rank, bool up);
  std::size_t gpu_link(int rank, bool up);
  std::size_t link_between(KnownLink::Kind kind, int lower, int upper, bool forward);
  const Link& wan(const KnownLink& link) const;
  void cross_wan(std::size_t from, std::size_t to, Path& path);
  std::string level_of(const KnownLink& link) const;
  std::string cable_of(const KnownLink& link) const;

  const Cluster& cluster_;
  int ranks_per_node_;
  int own_nodes_;  ///< of ranks
  int nodes_;      ///< with servers
  bool is_star_;
  NetworkShare share_;                     ///< its nodes are also those of servers
  std::vector<int> places_;                ///< of the cluster's nodes
  std::vector<std::size_t> place_region_;  ///< of the places, on regions
  std::vector<int> server_ranks_;
  bool latencies_vary_;
  std::shared_ptr<KnownLinks> links_;
  std::unordered_map<long, Path> paths_;
};

}  // namespace syncopate
