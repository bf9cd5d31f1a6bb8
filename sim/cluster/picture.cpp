#include "cluster/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/connected_components.hpp>
#include <map>
#include <set>
#include <string_view>

#include "cluster/alpha_beta.hpp"

namespace syncopate {

namespace {

constexpr double least_width = 0.3;  // points
constexpr double most_width = 8.0;

/// In which direction routes cross links that have both. One end of a link is that before which its first route came; other routes follow
/// from the neighbours that a link is known to have at either end.
class Crossings {
 public:
  /// `before` and `after`: a node or a cable.
  bool is_forward(const std::string& cable, const std::string& before, const std::string& after) {
    std::map<std::string, bool>& is_at_far_end = neighbours_[cable];
    const auto come_from = is_at_far_end.find(before);
    const auto go_to = is_at_far_end.find(after);
    const bool forward = come_from != is_at_far_end.end() ? !come_from->second : go_to == is_at_far_end.end() || go_to->second;
    is_at_far_end.emplace(before, !forward);
    is_at_far_end.emplace(after, forward);
    return forward;
  }

 private:
  std::map<std::string, std::map<std::string, bool>> neighbours_;  ///< by cable
};

/// Groups the ends of cables into switches: two ends are at the same switch if a route passes from one to the other.
class Ends {
 public:
  /// The end at which a message leaves a cable, and the end at which it enters.
  std::size_t leaving(const NetworkLink& link) { return end(link.cable, link.forward); }
  std::size_t entering(const NetworkLink& link) { return end(link.cable, !link.forward); }

  std::size_t of_node(int node) { return end(fmt::format("node {}", node), true); }

  void join(std::size_t a, std::size_t b) { joined_.emplace(a, b); }

  /// The switch or node of every end.
  std::vector<std::size_t> places() const {
    boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS> graph(joined_.begin(), joined_.end(), ids_.size());
    std::vector<std::size_t> places(ids_.size());
    boost::connected_components(graph, places.data());
    return places;
  }

 private:
  std::size_t end(const std::string& cable, bool far) { return ids_.try_emplace({cable, far}, ids_.size()).first->second; }

  std::map<std::pair<std::string, bool>, std::size_t> ids_;
  std::set<std::pair<std::size_t, std::size_t>> joined_;
};

/// Escapes text for double quotes in the dot language.
std::string escaped(std::string text) {
  for (std::size_t position = 0; (position = text.find_first_of("\"\\", position)) != std::string::npos; position += 2)
    text.insert(position, 1, '\\');
  return text;
}

std::string describe(Rate bandwidth) { return fmt::format("{:.3g} Gb/s", bandwidth.value * 8 / 1e9); }

/// One colour per level, from a palette that colour-blind people can tell apart.
class LevelColors {
 public:
  std::string_view operator()(const std::string& level) {
    constexpr std::array<std::string_view, 6> colors = {"#4D4D4D", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00"};
    return colors[levels_.try_emplace(level, levels_.size()).first->second % colors.size()];
  }

 private:
  std::map<std::string, std::size_t> levels_;
};

}  // namespace

std::string draw_network(const Cluster& cluster) {
  Network network(cluster, 1, {}, fastest_region_order(cluster, Bytes(1e6)));
  return draw_network(cluster, network);
}

std::string draw_network(const Cluster& cluster, Network& network, const std::optional<CableUse>& use) {
  Ends ends;
  Crossings crossings;
  const auto node_name = [](int node) { return fmt::format("node {}", node); };
  std::map<std::string, NetworkLink> cables;
  for (int from = 0; from < network.nodes(); ++from) {
    for (int to = 0; to < network.nodes(); ++to) {
      if (from == to) continue;
      std::size_t here = ends.of_node(from);
      std::vector<NetworkLink> links;
      for (const std::size_t index : network.path(network.first_rank(from), network.first_rank(to)).links)
        links.push_back(network.link(index));
      for (std::size_t i = 0; i < links.size(); ++i) {
        NetworkLink& link = links[i];
        if (link.shares_directions) {
          link.forward = crossings.is_forward(link.cable, i == 0 ? node_name(from) : links[i - 1].cable,
                                              i + 1 == links.size() ? node_name(to) : links[i + 1].cable);
        }
        cables.try_emplace(link.cable, link);
        ends.join(here, ends.entering(link));
        here = ends.leaving(link);
      }
      ends.join(here, ends.of_node(to));
    }
  }

  std::string text =
      fmt::format("graph G {{\ngraph [label=\"{}: {} nodes, {}{}\", layout=neato, overlap=false, splines=true];\nnode [fontsize=10];\n",
                  escaped(cluster.name), cluster.nodes, cluster.regions ? "regions" : cluster.topology->name(),
                  use ? "\\n%: share of its bandwidth that the busier direction of a cable uses in the measured window" : "");
  const std::vector<std::size_t> places = ends.places();
  std::size_t count = 0;
  std::map<std::size_t, std::size_t> vertices;  // by place
  const auto add_vertex = [&](const std::string& label, std::string_view shape) {
    text += fmt::format("{}[label=\"{}\", shape={}];\n", count, escaped(label), shape);
    return count++;
  };
  for (int server = cluster.nodes; server < network.nodes(); ++server)
    vertices[places[ends.of_node(server)]] = add_vertex(fmt::format("server-{}", server - cluster.nodes), "box");
  for (int node = 0; node < cluster.nodes; ++node) {
    const std::string gpus = cluster.gpus_per_node > 1 ? fmt::format(", {} GPUs", cluster.gpus_per_node) : "";
    const std::string nics = cluster.nics > 1 ? fmt::format(", {} NICs", cluster.nics) : "";
    const std::string name = network.name_of(node).value_or(fmt::format("node-{}", node));
    vertices[places[ends.of_node(node)]] = add_vertex(fmt::format("{}{}{}", name, gpus, nics), "box");
  }
  const auto vertex_of = [&](std::size_t end) {
    const auto [vertex, is_new] = vertices.try_emplace(places[end]);
    if (is_new) vertex->second = add_vertex("", "point, width=0.15");
    return vertex->second;
  };

  LevelColors color_of;
  std::string edges;
  for (const auto& [name, link] : cables) {
    const std::size_t from = vertex_of(ends.entering(link));
    const std::size_t to = vertex_of(ends.leaving(link));
    edges += fmt::format("{}--{} [tooltip=\"{}\", label=\"{}\\n{}", from, to, escaped(name), escaped(link.level), describe(link.bandwidth));
    std::string width;
    if (use) {
      const auto found = use->find(name);
      const double share = found == use->end() ? 0.0 : found->second;
      edges += fmt::format("\\n{:.3g}%", 100 * share);
      width = fmt::format(", penwidth={:.3g}", std::max(least_width, most_width * std::min(1.0, share)));
    }
    edges += fmt::format("\", color=\"{}\"{}, fontsize=8];\n", color_of(link.level), width);
  }
  return text + edges + "}\n";
}

}  // namespace syncopate
