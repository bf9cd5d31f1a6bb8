#include <fmt/format.h>

#include <limits>
#include <simgrid/s4u.hpp>

#include "cluster/simgrid.hpp"
#include "cluster/topologies.hpp"

namespace syncopate {

namespace {

namespace s4u = simgrid::s4u;

class Star : public Topology {
 public:
  std::string_view name() const override { return "star"; }
  int places() const override { return std::numeric_limits<int>::max(); }
  std::string advice(int /*nodes*/) const override { return ""; }
  std::string link_name(const std::string& simgrid_name) const override { return simgrid_name; }

  std::vector<s4u::Host*> build(int needed, double bandwidth) const override {
    s4u::NetZone* zone = in_world(&s4u::create_star_zone, "star");
    std::vector<s4u::Host*> hosts;
    hosts.reserve(static_cast<std::size_t>(needed));
    for (int node = 0; node < needed; ++node) {
      s4u::Host* host = zone->create_host(fmt::format("place-{}", node), 1.0);
      const s4u::Link* link = zone->create_split_duplex_link(fmt::format("link-{}", node), bandwidth)->seal();
      zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {{link, s4u::LinkInRoute::Direction::UP}}, true);
      hosts.push_back(host);
    }
    zone->seal();
    return hosts;
  }
};

}  // namespace

std::shared_ptr<const Topology> read_star(Object& /*fields*/, int /*nodes*/) { return default_topology(); }

std::shared_ptr<const Topology> default_topology() { return std::make_shared<Star>(); }

}  // namespace syncopate
