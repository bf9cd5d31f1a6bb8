#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.hpp"
#include "base/json.hpp"
#include "cluster/platform.hpp"
#include "cluster/topologies.hpp"

namespace syncopate {

struct Cluster;

/// A platform's hosts as places: first those that are nodes, then the others, in the file's order.
class PlatformTopology : public Topology {
 public:
  PlatformTopology(std::shared_ptr<Platform> platform, std::vector<int> hosts, double bandwidth = 1.0, double latency = 1.0)
      : platform_(std::move(platform)), hosts_(std::move(hosts)), bandwidth_(bandwidth), latency_(latency) {}

  std::string_view name() const override { return "platform"; }
  int places() const override { return static_cast<int>(hosts_.size()); }
  std::string advice(int nodes) const override;
  bool has_node_links() const override { return false; }
  std::string level(const InnerLink& link) const override { return link_name(link)->cable; }
  /// Links that are shared: their numbers are both ends.
  std::vector<InnerLink> route(int from, int to) const override;
  std::optional<RouteFigures> figures(int from, int to) const override;
  std::vector<Change<Seconds>> latency_changes(int from, int to, const LinkChanges& changes) const override;
  std::optional<Rate> bandwidth(const InnerLink& link) const override;
  std::optional<LinkName> link_name(const InnerLink& link) const override;
  std::shared_ptr<const Topology> scaled(double bandwidth, double latency) const override;
  std::optional<Place> own(int place) const override;

  const std::vector<int>& hosts() const { return hosts_; }

 private:
  const Platform::Route& route_of(int from, int to) const;
  Rate bandwidth_of(int link) const { return bandwidth_ * platform_->links()[static_cast<std::size_t>(link)].bandwidth; }

  std::shared_ptr<Platform> platform_;
  std::vector<int> hosts_;  ///< by place
  double bandwidth_;        ///< factors on all that the platform says
  double latency_;
};

/// The platform that a cluster's key `platform` names, relative to the file that has the key: {"file": ..., "xml": ...}, which may stand in
/// place of the name. Throws InputError.
Json platform_content(const Field& platform);

/// Keys of a cluster that say which hosts of a platform are nodes.
struct PlatformKeys {
  std::optional<Field> nodes;   ///< how many of `hosts`; without these also names, or a pattern
  std::optional<Field> hosts;   ///< names, or a pattern
  std::optional<Field> speeds;  ///< whether hosts' speeds count
};

/// Sets `nodes`, `platform`, `topology`, `link` and `has_host_speeds` of a cluster. `platform`: the name of a file, or its content. Throws
/// InputError.
void place_on_platform(const Field& platform, const PlatformKeys& keys, Cluster& cluster);

/// The nodes of a cluster on a platform, or some of them, for its key `hosts`.
Json platform_hosts(const Cluster& cluster);
Json platform_hosts(const Cluster& cluster, const std::vector<int>& nodes);

/// Puts the nodes of a platform into an order in which neighbours are near: after each node the one of the others to which messages have
/// the least latency, the fewest links, the highest rate. Throws InputError at `placement` where there are too many nodes.
void order_by_distance(const Field& placement, Cluster& cluster);

}  // namespace syncopate
