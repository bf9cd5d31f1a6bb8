#include <fmt/format.h>

#include <algorithm>

#include "cluster/simgrid.hpp"
#include "cluster/topologies.hpp"
#include "cluster/zones.hpp"

namespace syncopate {

namespace {

namespace s4u = simgrid::s4u;

/// Groups of chassis of routers with nodes. All routers of a chassis are linked to each other, as are those of the same number in the
/// chassis of a group; each two groups have one link. Routes are minimal. J. Kim et al., "Technology-driven, highly-scalable dragonfly
/// topology", ISCA'08, as in Cray's Cascade.
class Dragonfly : public Topology {
 public:
  Dragonfly(int groups, int chassis, int routers, int nodes) : groups_(groups), chassis_(chassis), routers_(routers), nodes_(nodes) {}

  std::string_view name() const override { return "dragonfly"; }
  int places() const override { return groups_ * chassis_ * routers_ * nodes_; }
  std::string advice(int nodes) const override {
    const int routers = groups_ * chassis_ * routers_;
    return fmt::format(R"("nodes": {})", (nodes + routers - 1) / routers);
  }

  std::vector<s4u::Host*> build(int /*needed*/, double bandwidth) const override {
    const auto linked_once = [](int count) { return std::pair<unsigned, unsigned>(static_cast<unsigned>(count), 1U); };
    const s4u::DragonflyParams shape(linked_once(groups_), linked_once(chassis_), linked_once(routers_), static_cast<unsigned>(nodes_));
    std::vector<s4u::Host*> hosts;
    s4u::create_dragonfly_zone("dragonfly", simgrid_world(), shape, hosts_into(hosts), bandwidth, 0.0,
                               s4u::Link::SharingPolicy::SPLITDUPLEX)
        ->seal();
    return hosts;
  }

  std::string link_name(const std::string& simgrid_name) const override {
    // words joined by '_', then a number that no other link has
    std::string name = simgrid_name;
    std::replace(name.begin(), name.end(), '_', ' ');
    return name;
  }

 private:
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
    fields.at("groups").fail_because(fmt::format(
        "SimGrid's dragonfly has at most as many groups as routers in a chassis, not {} and {}; use \"groups\": {} or \"routers\": {}",
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
