#include <algorithm>
#include <array>
#include <bit>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/bipartite.hpp>
#include <cmath>
#include <map>
#include <utility>

#include "base/indexed.hpp"
#include "collective/plan.hpp"

namespace syncopate {

namespace {

constexpr int no_rank = -1;

/// A binary tree over ranks, numbered in order, so that every second rank is a leaf.
struct BinaryTree {
  Indexed<int> parent;
  Indexed<int> height;  ///< 0: a leaf
  int root = 0;
};

/// Adds the in-order tree over positions first + 1 .. first + count. Returns the position of its root. Roots are at first + a power of two,
/// so odd positions are leaves.
int add_subtree(Indexed<int>& parent, Indexed<int>& height, int first, int count) {
  const int root = static_cast<int>(std::bit_floor(static_cast<unsigned>(count)));
  const int position = first + root;
  int& own_height = height[position];
  const auto adopt = [&](int from, int size) {
    if (size == 0) return;
    const int child = add_subtree(parent, height, from, size);
    parent[child] = position;
    own_height = std::max(own_height, 1 + height[child]);
  };
  adopt(first, root - 1);
  adopt(position, count - root);
  return position;
}

/// The second tree is the first tree mirrored (even number of ranks) or shifted by one rank (odd number). So a leaf of one tree is an inner
/// node of the other.
BinaryTree make_tree(int ranks, bool second) {
  Indexed<int> parent(ranks + 1, no_rank);
  Indexed<int> height(ranks + 1);
  const int root = add_subtree(parent, height, 0, ranks);
  const auto rank_at = [&](int position) {
    if (!second) return position - 1;
    return ranks % 2 == 0 ? ranks - position : (position + ranks - 2) % ranks;
  };
  BinaryTree tree = {Indexed<int>(ranks, no_rank), Indexed<int>(ranks), rank_at(root)};
  for (int position = 1; position <= ranks; ++position) {
    const int rank = rank_at(position);
    tree.height[rank] = height[position];
    tree.parent[rank] = parent[position] == no_rank ? no_rank : rank_at(parent[position]);
  }
  return tree;
}

/// How many chunks a child at height h is behind a child at height h - 1: it first waits for the chunk from its own children.
constexpr int lead = 2;

/// An edge of one of the trees, from a rank to its parent.
struct Edge {
  int tree = 0;
  int child = 0;
  int colour = no_rank;
};

/// Colours the edges with 0 and 1. The two edges of a rank to its parents get different colours, and so do the (at most two) edges from its
/// children. Stages alternate between the colours, so a rank sends to one parent and receives from one child at a time.
std::vector<Edge> coloured_edges(const std::array<BinaryTree, 2>& trees) {
  std::vector<Edge> edges;
  for (int tree = 0; tree < 2; ++tree) {
    const Indexed<int>& parents = trees[at(tree)].parent;
    for (int rank = 0; rank < static_cast<int>(parents.size()); ++rank) {
      if (parents[rank] != no_rank) edges.push_back({tree, rank});
    }
  }
  // Edges that need different colours form paths and even cycles, so two colours are enough.
  boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS> exclusions(edges.size());
  std::map<std::pair<int, bool>, std::size_t> first_edge;  // by rank, and whether the rank is the child
  for (std::size_t edge = 0; edge < edges.size(); ++edge) {
    const int child = edges[edge].child;
    const int parent = trees[at(edges[edge].tree)].parent[child];
    for (const auto& end : {std::pair(child, true), std::pair(parent, false)}) {
      const auto [known, is_first] = first_edge.try_emplace(end, edge);
      if (!is_first) boost::add_edge(edge, known->second, exclusions);
    }
  }
  std::vector<boost::default_color_type> colours(edges.size());
  const auto numbers = boost::get(boost::vertex_index, exclusions);
  boost::is_bipartite(exclusions, numbers, boost::make_iterator_property_map(colours.begin(), numbers));
  for (std::size_t edge = 0; edge < edges.size(); ++edge) edges[edge].colour = colours[edge] == colours.front() ? 0 : 1;
  return edges;
}

}  // namespace

int double_tree_chunks(int ranks, Bytes bytes, const LongestWay& way) {
  constexpr double most_messages = 1 << 20;
  constexpr Bytes smallest(32 << 10);
  double best = std::max(1.0, std::floor(bytes / 2.0 / smallest));
  if (way.under_way > Bytes(0)) {
    const double latencies = bytes / way.under_way;  // the transfer time as a multiple of the latency
    const double levels = std::bit_width(static_cast<unsigned>(ranks) - 1U);
    best = std::clamp(
        std::round(std::max((1.0 - way.reduction / 2.0) * latencies, std::sqrt((2.0 + way.reduction / 2.0) * levels * latencies))), 1.0,
        best);
  }
  return static_cast<int>(std::min(best, std::max(1.0, most_messages / (4.0 * ranks))));
}

Plan double_binary_tree_plan(Operation operation, int ranks, int chunks) {
  if (operation != Operation::all_reduce) return halving_doubling_plan(operation, ranks, chunks);
  Plan plan = {.ranks = ranks, .parts = 2 * chunks, .block = 2 * chunks, .cells = 2 * chunks};
  if (ranks == 1) return plan;
  const std::array<BinaryTree, 2> trees = {make_tree(ranks, false), make_tree(ranks, true)};
  const std::vector<Edge> edges = coloured_edges(trees);
  int highest = 0;
  for (const BinaryTree& tree : trees) highest = std::max(highest, tree.height[tree.root]);
  const std::size_t slots = 2 * at(chunks + lead * highest);
  std::vector<Stage> up(slots);
  std::vector<Stage> down(slots);
  for (const Edge& edge : edges) {
    const BinaryTree& tree = trees[at(edge.tree)];
    const int parent = tree.parent[edge.child];
    const int height = tree.height[edge.child];
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const int part = edge.tree * chunks + chunk;
      const int in_order = chunk + lead * height;
      const std::size_t slot = 2 * at(in_order) + at(edge.colour);
      up[slot].messages.push_back({edge.child, parent, part, 1, part});
      // The broadcast is the reduction in reverse, with the chunks in reverse order.
      const int reverse = edge.tree * chunks + chunks - 1 - chunk;
      down[slots - 1 - slot].messages.push_back({parent, edge.child, reverse, 1, reverse});
    }
  }
  for (Stage& stage : up) {
    stage.reduces = true;
    if (!stage.messages.empty()) plan.steps.emplace_back(std::move(stage));
  }
  for (Stage& stage : down) {
    if (!stage.messages.empty()) plan.steps.emplace_back(std::move(stage));
  }
  return plan;
}

}  // namespace syncopate
