#pragma once

#include <string>
#include <vector>

#include "study/setup.hpp"
#include "timeline/timeline.hpp"

namespace syncopate {

/// What crossed one direction of a link in the measured window.
struct LinkLoad {
  std::size_t link;  ///< its number in the network
  std::string name;
  Rate bandwidth;
  Bytes bytes;
  double utilisation = 0.0;         ///< bytes / (bandwidth x window)
  double utilisation_in_use = 0.0;  ///< bytes / (bandwidth x time in the window in which something that crosses it is in flight)
};

/// What crossed the network in the measured window. What the window's edges cut counts pro rata.
struct NetworkLoad {
  Bytes between_nodes;          ///< of all messages from node to node
  Bytes most;                   ///< over one direction of a link between nodes
  std::vector<LinkLoad> links;  ///< the busiest first, by utilisation; those that nothing crossed are left out
};

/// `most_links`: in the list.
NetworkLoad network_load(const JobTimeline& timeline, Setup& setup, std::size_t most_links);

/// The network of a point, which is simulated for that, and how much its cables are used, for Graphviz. Throws SimulationError where its
/// fidelity knows of no links.
std::string draw_use(const Point& point);

}  // namespace syncopate
