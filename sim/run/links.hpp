#pragma once

#include <string>
#include <vector>

#include "run/setup.hpp"
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

/// Bytes that crossed each link in the measured window, by its number; the last ones may be missing.
std::vector<Bytes> bytes_over_links(const JobTimeline& timeline, Setup& setup);

/// A link and the share of the window's bytes that it could carry.
struct BusyLink {
  std::size_t link;
  double utilisation;
};
/// The busiest first, `most` of them; of equally busy ones nodes' links come first, by their numbers.
std::vector<BusyLink> busiest_links(std::vector<BusyLink> links, std::size_t most, const Network& network);

/// `most_links`: in the list.
NetworkLoad network_load(const JobTimeline& timeline, Setup& setup, std::size_t most_links);

/// The network of a point, which is simulated for that, and how much its cables are used, for Graphviz. Throws SimulationError where its
/// fidelity knows of no links.
std::string draw_use(const Point& point);

}  // namespace syncopate
