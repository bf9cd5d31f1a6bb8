#pragma once

#include <compare>
#include <vector>

namespace syncopate {

/// Some of a job's ranks in an order: all of them, the GPUs of a node, the first GPU of every node, those that are left. A rank's
/// position in it is its member number; plans and closed forms know members only.
class Communicator {
 public:
  /// The ranks first, first + stride, ...; `count` of them. Throws SimulationError unless there is at least one.
  explicit Communicator(int count, int first = 0, int stride = 1);
  /// Those ranks. Throws SimulationError unless there is at least one, and each is there once.
  explicit Communicator(std::vector<int> ranks);

  int size() const { return count_; }
  int rank(int member) const { return list_.empty() ? first_ + member * stride_ : list_[static_cast<std::size_t>(member)]; }
  /// The member number of a rank; -1 when it is not in it.
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
  std::vector<int> list_;  ///< by member, where they are at no regular distance
};

/// Ranks on nodes: the same number of them on each. Member numbers run through a node's ranks, then through the next one's.
struct NodeLayout {
  std::vector<int> nodes;
  int ranks_per_node = 1;
};

/// Where a communicator's ranks are if rank i is on node i / `ranks_per_node`. Throws SimulationError when its nodes have different
/// numbers of its ranks, or their members do not follow each other: no algorithm is defined for it.
NodeLayout layout_on_nodes(const Communicator& communicator, int ranks_per_node);

}  // namespace syncopate
