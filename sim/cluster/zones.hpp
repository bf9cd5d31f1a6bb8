#pragma once

#include <simgrid/s4u.hpp>
#include <utility>
#include <vector>

namespace syncopate {

/// What SimGrid's cluster zones (fat-tree, torus, dragonfly) call for each of their leaves: a host.
inline simgrid::s4u::ClusterCallbacks hosts_into(std::vector<simgrid::s4u::Host*>& hosts) {
  using simgrid::kernel::routing::NetPoint;
  return simgrid::s4u::ClusterCallbacks(
      [&hosts](simgrid::s4u::NetZone* zone, const std::vector<unsigned long>& /*coordinates*/, unsigned long id) {
        hosts.push_back(zone->create_host("place-" + std::to_string(id), 1.0));
        hosts.back()->seal();
        return std::pair<NetPoint*, NetPoint*>(hosts.back()->get_netpoint(), nullptr);
      });
}

}  // namespace syncopate
