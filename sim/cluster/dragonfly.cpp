#include <fmt/format.h>

#include <algorithm>

#include "cluster/topologies.hpp"

namespace syncopate {

namespace {

/// Groups of chassis, chassis of routers, routers with nodes. There are three kinds of links:
/// - between all routers of a chassis,
/// - between all routers of a group that have the same number in their chassis,
/// - one link between every two groups.
/// Routes are minimal. J. Kim et al., "Technology-driven, highly-scalable dragonfly topology", ISCA'08; the layout is Cray Cascade's.
class Dragonfly : public Topology {
 public:
  Dragonfly(int groups, int chassis, int routers, int nodes) : groups_(groups), chassis_(chassis), routers_(routers), nodes_(nodes) {}

  std::string_view name() const override { return "dragonfly"; }
  int places() const override { return groups_ * chassis_ * routers_ * nodes_; }
  std::optional<int> switch_of(int place) const override { return place / nodes_; }
  std::string advice(int nodes) const override {
    const int routers = groups_ * chassis_ * routers_;
    return fmt::format(R"("nodes": {})", (nodes + routers - 1) / routers);
  }

  std::string_view switch_name() const override { return "router"; }

  std::string level(const InnerLink& link) const override {
    if (link.lower / routers_ == link.upper / routers_) return "intra-chassis";
    const int routers_of_group = chassis_ * routers_;
    return link.lower / routers_of_group == link.upper / routers_of_group ? "intra-group" : "inter-group";
  }

  std::vector<InnerLink> route(int from, int to) const override {
    std::vector<InnerLink> links;
    Router here = router_of(from);
    const Router target = router_of(to);
    const auto go = [&](Router next) {
      const auto [lower, upper] = std::minmax({number(here), number(next)});
      if (lower != upper) links.push_back({lower, upper, number(here) == lower});
      here = next;
    };
    if (here.group != target.group) {
      // The link to group g is at router g of the group's first chassis.
      go({here.group, here.chassis, target.group});
      go({here.group, 0, here.router});
      go({target.group, 0, here.group});
    }
    go({here.group, here.chassis, target.router});
    go(target);
    return links;
  }

 private:
  struct Router {
    int group = 0;
    int chassis = 0;
    int router = 0;  ///< number in the chassis
  };

  Router router_of(int place) const {
    const int router = place / nodes_;
    return {router / routers_ / chassis_, router / routers_ % chassis_, router % routers_};
  }
  int number(const Router& router) const { return (router.group * chassis_ + router.chassis) * routers_ + router.router; }

  int groups_;
  int chassis_;
  int routers_;
  int nodes_;
};

}  // namespace

std::shared_ptr<const Topology> read_dragonfly(Object& fields, int /*nodes*/) {
  constexpr int most = 256;
  const auto count = [&](const char* key) { return static_cast<int>(fields.at(key).integer(1, most)); };
  const int groups = count("groups");
  const int chassis = count("chassis");
  const int routers = count("routers");
  const int nodes = count("nodes");
  if (groups > routers) {
    fields.at("groups").fail_because(
        fmt::format("the link to group g is at router g of a chassis, so there are at most as many groups as routers in a chassis, not {} "
                    "and {}; use \"groups\": {} or \"routers\": {}",
                    groups, routers, routers, groups));
  }
  constexpr long most_places = 65536;
  const long places = static_cast<long>(groups) * chassis * routers * nodes;
  if (places > most_places) {
    fields.field().fail_because(fmt::format("a dragonfly of {} x {} x {} x {} has {} places; at most {} can be simulated", groups, chassis,
                                            routers, nodes, places, most_places));
  }
  return std::make_shared<Dragonfly>(groups, chassis, routers, nodes);
}

}  // namespace syncopate
