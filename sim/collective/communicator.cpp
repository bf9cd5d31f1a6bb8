#include "collective/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.hpp"
#include "base/indexed.hpp"

namespace syncopate {

Communicator::Communicator(int count, int first, int stride) : first_(first), count_(count), stride_(stride) {
  if (count < 1) throw SimulationError("a communicator without a rank; leave the group out");
}

Communicator::Communicator(std::vector<int> ranks) : count_(static_cast<int>(ranks.size())), list_(std::move(ranks)) {
  if (list_.empty()) throw SimulationError("a communicator without a rank; leave the group out");
  std::vector<int> sorted = list_;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) throw SimulationError(fmt::format("a communicator has rank {} twice; list every rank once", *twice));
  first_ = list_.front();
  stride_ = count_ > 1 ? list_[1] - first_ : 1;
  const auto is_regular = [this] {
    for (int member = 0; member < count_; ++member) {
      if (list_[at(member)] != first_ + member * stride_) return false;
    }
    return stride_ > 0;
  };
  if (is_regular()) list_.clear();
}

int Communicator::find(int rank) const {
  const auto found = std::find(list_.begin(), list_.end(), rank);
  return found == list_.end() ? -1 : static_cast<int>(found - list_.begin());
}

NodeLayout layout_on_nodes(const Communicator& communicator, int ranks_per_node) {
  NodeLayout layout;
  std::vector<int> ranks_on;
  for (int member = 0; member < communicator.size(); ++member) {
    const int node = communicator.rank(member) / ranks_per_node;
    if (layout.nodes.empty() || layout.nodes.back() != node) {
      layout.nodes.push_back(node);
      ranks_on.push_back(0);
    }
    ++ranks_on.back();
  }
  layout.ranks_per_node = ranks_on.front();
  std::vector<int> sorted = layout.nodes;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    throw SimulationError(fmt::format("a communicator's ranks on node {} do not follow each other; list them node by node", *twice));
  }
  for (std::size_t i = 0; i < ranks_on.size(); ++i) {
    if (ranks_on[i] == layout.ranks_per_node) continue;
    throw SimulationError(
        fmt::format("a communicator has {} ranks on node {} and {} on node {}; it needs the same number on each of its nodes",
                    layout.ranks_per_node, layout.nodes.front(), ranks_on[i], layout.nodes[i]));
  }
  return layout;
}

}  // namespace syncopate
