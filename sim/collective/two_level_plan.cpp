#include <utility>

#include "base/indexed.hpp"
#include "collective/plan.hpp"

namespace syncopate {

namespace {

/// Builds the plan. Chunks are added up inside the nodes one after the other, go among them, and are spread inside.
class TwoLevels {
 public:
  /// `among` is the plan of one chunk, or of all of them, each in a cell of its own.
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

  /// A ring inside every node, each of whose parts is as many of the plan as there are parts among the nodes.
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

  /// The root's node only: the root sends each of the others its share.
  void deal_out(int chunk) {
    for (int rank = 1; rank < node_size_; ++rank) {
      Stage stage;
      stage.inside = true;
      stage.messages.push_back({0, rank, chunk * plan_.block + rank * between_parts_, between_parts_, chunk * cells_});
      plan_.steps.emplace_back(std::move(stage));
    }
  }

  /// What `among` says, for the chunk or, if it is for all of them, from that one on.
  void add_among(int chunk) {
    for (const PlanStep& step : among_.steps) {
      Stage stage = std::get<Stage>(step);
      for (Message& message : stage.messages) {
        const int its_chunk = chunk + message.part / between_parts_;
        message = {message.from * node_size_, message.to * node_size_, its_chunk * plan_.block + message.part % between_parts_,
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
  int between_parts_;  ///< of a chunk
  int cells_;          ///< of a chunk
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
