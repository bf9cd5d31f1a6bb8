#pragma once

#include <compare>
#include <vector>

#include "base/indexed.hpp"

namespace syncopate {

/// An ordered set of a job's ranks: all ranks, the GPUs of a node, the first GPU of every node, the ranks that remain. A rank's position in
/// the set is its member number. Plans and closed forms only use member numbers.
class Communicator {
 public:
  /// `count` ranks: first, first + stride, ... Throws SimulationError if `count` < 1.
  explicit Communicator(int count, int first = 0, int stride = 1);
  /// The given ranks. Throws SimulationError if there are none, or if one appears twice.
  explicit Communicator(std::vector<int> ranks);

  int size() const { return count_; }
  int rank(int member) const { return list_.empty() ? first_ + member * stride_ : list_[at(member)]; }
  /// The member number of a rank; -1 if it is not a member.
  int member(int rank) const {
    if (!list_.empty()) return find(rank);
    const int distance = rank - first_;
    if (stride_ == 1) return distance >= 0 && distance < count_ ? distance : -1;
    return distance >= 0 && distance % stride_ == 0 && distance / stride_ < count_ ? distance / stride_ : -1;
  }

  auto operator<=>(const Communicator&) const = default;

 private:
  int find(int rank) const;

  int first_ = 0;
  int count_ = 1;
  int stride_ = 1;
  std::vector<int> list_;  ///< ranks by member; empty if they have a regular stride
};

/// Nodes with equally many ranks. Member numbers run through the ranks of a node, then through those of the next node.
struct NodeLayout {
  std::vector<int> nodes;
  int ranks_per_node = 1;
};

/// The nodes of a communicator's ranks. Rank i is on node i / `ranks_per_node`. Throws SimulationError if its nodes have different numbers
/// of ranks, or if the members of a node are not consecutive: no algorithm is defined for that.
NodeLayout layout_on_nodes(const Communicator& communicator, int ranks_per_node);

}  // namespace syncopate
