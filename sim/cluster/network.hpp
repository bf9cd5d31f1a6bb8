#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/indexed.hpp"
#include "cluster/cluster.hpp"
#include "cluster/known_links.hpp"
#include "cluster/placement.hpp"

namespace syncopate {

/// One direction of a cable between two ends, or both.
struct NetworkLink {
  std::string name;  ///< begins with `level`
  Rate bandwidth;
  std::string level;               ///< "node", "server", "gpu", "wan", "uplink", "node-uplink", or a level of the topology
  std::string cable;               ///< the same name for both directions
  bool forward = true;             ///< the direction
  bool shares_directions = false;  ///< messages of both directions cross this one
};

/// The route of a message.
struct Path {
  std::vector<std::size_t> links;  ///< numbers of the Network's links, in the order in which a message crosses them
  Seconds latency;
  Rate rate;                        ///< rate of a flow that is alone on the route, at time 0
  Rate limit = infinite_bandwidth;  ///< maximum rate of any flow (TCP window), at time 0
  const Link* over = nullptr;       ///< the cluster's link that gives jitter, connections and changes of latency; may be null
  struct Storage {
    std::size_t after = 0;  ///< after so many links the whole message is stored, then sent on
    Rate upload;            ///< rate before storage, of a flow that is alone
    Rate download;          ///< rate after storage, of a flow that is alone
  };
  std::optional<Storage> storage{};
  std::vector<Change<Seconds>> latencies{};  ///< of the whole route, where its links have latencies of their own that change

  Hop hop() const { return {latency, inverse(rate)}; }
  /// Rate over links[link].
  Rate rate_over(std::size_t link) const { return !storage ? rate : link < storage->after ? storage->upload : storage->download; }
  int connections() const { return over == nullptr ? 1 : over->connections; }
  bool latency_changes() const { return !latencies.empty() || link_latency_changes(); }
  /// The latency at that time.
  Seconds latency_at(Seconds time) const {
    return link_latency_changes() ? value_at(time, latency, over->latency_changes) : value_at(time, latency, latencies);
  }
  Rate limit_at(Seconds time) const { return link_latency_changes() ? over->limit(latency_at(time)) : limit; }

 private:
  bool link_latency_changes() const { return over != nullptr && !over->latency_changes.empty(); }
};

/// One job's share of a network that several jobs use. Only for clusters without regions.
struct NetworkShare {
  int job = 0;                          ///< the job's number; GPUs are never shared between jobs, even on a shared node
  std::vector<int> nodes;               ///< the cluster's nodes, by node of the job
  int servers_before = 0;               ///< nodes reserved for servers of earlier jobs
  int all_servers = 0;                  ///< nodes reserved for servers of all jobs
  std::shared_ptr<KnownLinks> links{};  ///< shared by all jobs: a link has the same number for each
};

/// The network between a job's ranks (one per GPU, or one per node) and its parameter servers. Ranks of one node have links of their own to
/// each other. Other messages cross the nodes' network.
///
/// Rank r is on node r / ranks_per_node. Servers with nodes of their own follow the last node of the ranks.
class Network {
 public:
  /// `region_order`: see regions_of_nodes. Only used if nodes are placed by region.
  Network(const Cluster& cluster, int ranks_per_node, const ServerPlaces& servers, const std::vector<std::size_t>& region_order);
  /// The network as one job sees it. `cluster`: the whole cluster.
  Network(const Cluster& cluster, NetworkShare share, int ranks_per_node, const ServerPlaces& servers);
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// The route between two ranks or servers. Cached.
  const Path& path(int from, int to);
  /// The same, not cached.
  Path find_path(int from, int to);
  /// Latency and inverse bandwidth of the route.
  Hop hop(int from, int to);
  /// The same, as if all nodes of one place were connected to one switch, in any topology.
  Hop direct_hop(int from, int to);

  /// Nodes of ranks, and nodes of servers only.
  int nodes() const { return nodes_; }
  int first_rank(int node) const { return node * ranks_per_node_; }
  /// The node's own name, if its topology has one.
  std::optional<std::string> name_of(int node) const {
    const auto own = cluster_.topology->own(place_of(first_rank(node)));
    return own ? std::optional(own->name) : std::nullopt;
  }

  /// The first rank of each server's node.
  const std::vector<int>& server_ranks() const { return server_ranks_; }
  /// Servers that any rank reaches by like ways.
  struct ServerGroup {
    int first = 0;   ///< the first rank of a server's node
    int second = 0;  ///< the same of another one; the first where there is none
    int servers = 1;
  };
  /// Servers on nodes of their own, of a region or of a star, are alike. Others, and all where latencies vary, are groups by themselves.
  std::vector<ServerGroup> alike_servers() const;

  // Links have numbers below count_links(), in the order of first use.

  std::size_t count_links() const { return links_->size(); }
  NetworkLink link(std::size_t number) const;
  /// At time 0.
  Rate bandwidth(std::size_t link) const;
  /// At `time`.
  Rate bandwidth(std::size_t link, Seconds time) const;
  /// The order of links in reports: nodes' links first; then by the numbers of the ends; upwards before downwards.
  bool comes_before(std::size_t link, std::size_t other) const;
  // Groups of links of one kind:

  static constexpr int of_nodes = 0;     ///< between a node and the network
  static constexpr int inside_node = 1;  ///< between GPUs of one node
  static constexpr int of_switches = 2;  ///< between switches
  static constexpr int of_regions = 3;   ///< between regions; each pair of regions, and each uplink, also has its own group above this
  /// The group of a link. Between regions: the group of the pair. Uplink: the group of the region's uplink, or of its nodes' uplinks.
  int group(std::size_t link) const;
  /// The group with the largest latency between two ranks: the pair of their regions, or their own links.
  int group_between(int from, int to) const;
  /// The group with the smallest bandwidth between two ranks: group_between, or the group of a narrower uplink.
  int narrowest_group(int from, int to) const;
  /// The name as in the cluster file: "link", "intra_node", "wan", "wan A - B", "uplink A", "node_uplink A". For switches: "link" and the
  /// topology.
  std::string group_name(int group) const;

  /// The link joins GPUs of one node.
  bool is_inside_node(std::size_t link) const { return (*links_)[link].kind == KnownLink::Kind::gpu; }
  /// The link's bandwidth changes with time.
  bool changes(std::size_t link) const;
  /// All times at which a bandwidth or latency changes, sorted.
  std::vector<Seconds> times_of_changes() const;
  bool changes_with_time() const { return cluster_.changes_with_time(); }
  /// Some route's latency is random, drawn for each message.
  bool latencies_vary() const { return latencies_vary_; }

  /// The region of a rank or server. Requires regions.
  std::size_t region_of(int rank) const { return place_region_[at(place_of(rank))]; }
  /// Both ranks are on one node.
  bool share_node(int from, int to) const { return node_of(from) == node_of(to); }

  /// A star: all nodes are alike and share no links.
  bool is_star() const { return is_star_; }

 private:
  void place_servers(const ServerPlaces& servers);
  int node_of(int rank) const { return rank / ranks_per_node_; }
  /// The node's number in the cluster.
  int whole_node_of(int rank) const { return share_.nodes[at(node_of(rank))]; }
  int place_of(int rank) const { return places_[at(whole_node_of(rank))]; }
  Path path_inside_node(int from, int to);
  Path path_over_regions(int from, int to);
  Path path_over_topology(int from, int to);
  int group_of_regions(std::size_t region, std::size_t second) const;
  int group_of_uplink(std::size_t region, bool of_node) const;
  std::size_t region_of_uplink(const KnownLink& node_uplink) const { return region_of(first_rank(static_cast<int>(node_uplink.number))); }
  bool is_of_server(const KnownLink& link) const { return static_cast<int>(link.number) >= cluster_.nodes; }
  /// Appends the uplinks of the rank's node and region: the node's first if `up`, else the region's first.
  void cross_uplinks(int rank, bool up, std::vector<std::size_t>& links);
  Seconds latency_over(std::size_t links) const;
  /// A path over the topology without its links.
  Path figures_over_topology(int from, int to, std::size_t links) const;
  static InnerLink inner(const KnownLink& link) { return {static_cast<int>(link.number), static_cast<int>(link.upper), link.forward}; }
  /// Sets the limit of flows and the source of jitter from `link`.
  static Path limited(Path path, const Link& link);
  std::size_t node_link(int rank, bool up);
  std::size_t gpu_link(int rank, bool up);
  std::size_t link_between(KnownLink::Kind kind, int lower, int upper, bool forward);
  const Link& wan(const KnownLink& link) const;
  /// The changes of the link's bandwidth; null if it has none.
  const LinkChanges::Changes* changes_of(std::size_t link) const;
  void cross_wan(std::size_t from, std::size_t to, Path& path);
  std::string level_of(const KnownLink& link) const;
  std::string cable_of(const KnownLink& link) const;

  const Cluster& cluster_;
  int ranks_per_node_;
  int own_nodes_;  ///< nodes of the job's ranks
  int nodes_;      ///< own_nodes_, and nodes of servers only
  bool is_star_;
  NetworkShare share_;                     ///< `nodes` also lists nodes of servers
  std::vector<int> places_;                ///< by node of the cluster
  std::vector<std::size_t> place_region_;  ///< by place; empty without regions
  std::vector<int> server_ranks_;
  bool latencies_vary_;
  std::shared_ptr<KnownLinks> links_;
  std::unordered_map<long, Path> paths_;
  mutable std::unordered_map<std::size_t, const LinkChanges::Changes*> inner_changes_;  ///< by link, as they are looked up
};

}  // namespace syncopate
