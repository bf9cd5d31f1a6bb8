#include <utility>

#include "base/indexed.hpp"
#include "collective/plan.hpp"

namespace syncopate {

namespace {

/// Builds the plan: for each chunk, a reduction inside the nodes, the plan `among` between nodes, and a spread inside the nodes.
class TwoLevels {
 public:
  /// `among`: the plan between nodes, for one chunk or (all_chunks) for all of them with one cell per chunk.
  TwoLevels(Operation operation, int nodes, int node_size, Plan among, int chunks, bool all_chunks)
      : among_(std::move(among)),
        nodes_(nodes),
        node_size_(node_size),
        between_parts_(all_chunks ? among_.parts / chunks : among_.parts),
        cells_(all_chunks ? 1 : among_.cells) {
    plan_.operation = operation;
    plan_.ranks = nodes * node_size;
    plan_.node_size = node_size;
    plan_.parts = chunks * between_parts_ * node_size;
    plan_.block = between_parts_ * node_size;
    plan_.cells = chunks * cells_;
  }

  /// Adds a ring inside every node. A part of this ring is `between_parts_` parts of the plan.
  void add_inside(Operation operation, int chunk) {
    const Plan ring = ring_plan(operation, node_size_, 1);
    for (const PlanStep& step : ring.steps) {
      Stage stage = std::get<Stage>(step);
      const std::vector<Message> of_one_node = std::exchange(stage.messages, {});
      stage.inside = true;
      stage.shift *= between_parts_;
      stage.messages.reserve(at(nodes_) * of_one_node.size());
      for (int first = 0; first < plan_.ranks; first += node_size_) {
        for (const Message& message : of_one_node) {
          stage.messages.push_back({first + message.from, first + message.to, chunk * plan_.block + message.part * between_parts_,
                                    message.parts * between_parts_, chunk * cells_});
        }
      }
      plan_.steps.emplace_back(std::move(stage));
    }
  }

  /// For a broadcast: the root sends every other rank of its node its share.
  void deal_out(int chunk) {
    for (int rank = 1; rank < node_size_; ++rank) {
      Stage stage;
      stage.inside = true;
      stage.messages.push_back({0, rank, chunk * plan_.block + rank * between_parts_, between_parts_, chunk * cells_});
      plan_.steps.emplace_back(std::move(stage));
    }
  }

  /// Adds the plan between nodes for `chunk` (0 if that plan covers all chunks).
  void add_among(int chunk) {
    for (const PlanStep& step : among_.steps) {
      Stage stage = std::get<Stage>(step);
      for (Message& message : stage.messages) {
        const int message_chunk = chunk + message.part / between_parts_;
        message = {message.from * node_size_, message.to * node_size_, message_chunk * plan_.block + message.part % between_parts_,
                   message.parts * node_size_, chunk * cells_ + message.cell};
      }
      plan_.steps.emplace_back(std::move(stage));
    }
  }

  void add_barrier(int chunk, bool gates_receives) { plan_.steps.emplace_back(NodeBarrier{chunk * cells_, cells_, gates_receives}); }

  Plan take() { return std::move(plan_); }

 private:
  Plan among_;
  int nodes_;
  int node_size_;
  int between_parts_;  ///< parts of a chunk in the plan between nodes
  int cells_;          ///< cells of a chunk
  Plan plan_;
};

}  // namespace

Plan two_level_plan(Operation operation, int nodes, int node_size, Plan among, int among_chunks, int chunks) {
  if (node_size == 1) return among;
  const bool all_chunks = chunks > 1 && among_chunks == chunks && among.cells == chunks;
  TwoLevels levels(operation, nodes, node_size, std::move(among), chunks, all_chunks);
  for (int chunk = 0; chunk < chunks; ++chunk) {
    if (operation == Operation::all_reduce || operation == Operation::reduce_scatter) levels.add_inside(Operation::reduce_scatter, chunk);
    if (operation == Operation::broadcast) levels.deal_out(chunk);
    levels.add_barrier(chunk, true);
  }
  for (int chunk = 0; chunk < (all_chunks ? 1 : chunks); ++chunk) levels.add_among(chunk);
  for (int chunk = 0; chunk < chunks; ++chunk) {
    levels.add_barrier(chunk, false);
    if (operation != Operation::reduce_scatter) levels.add_inside(Operation::all_gather, chunk);
  }
  return levels.take();
}

}  // namespace syncopate
