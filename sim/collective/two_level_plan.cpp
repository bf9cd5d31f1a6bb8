#include <utility>

#include "collective/plan.hpp"

namespace syncopate {

namespace {

/// Builds the plan chunk by chunk.
class TwoLevels {
 public:
  TwoLevels(Operation operation, int nodes, int node_size, Plan among, int chunks)
      : among_(std::move(among)), nodes_(nodes), node_size_(node_size), of_chunk_(among_.parts * node_size) {
    plan_.operation = operation;
    plan_.ranks = nodes * node_size;
    plan_.node_size = node_size;
    plan_.parts = chunks * of_chunk_;
    plan_.block = of_chunk_;
    plan_.cells = chunks * among_.cells;
  }

  /// A ring inside every node, each of whose parts is as many of the plan as there are parts among the nodes.
  void add_inside(Operation operation, int chunk) {
    const Plan ring = ring_plan(operation, node_size_, 1);
    for (Stage stage : ring.stages) {
      const std::vector<Message> of_one_node = std::exchange(stage.messages, {});
      stage.inside = true;
      stage.shift *= among_.parts;
      stage.messages.reserve(static_cast<std::size_t>(nodes_) * of_one_node.size());
      for (int first = 0; first < plan_.ranks; first += node_size_) {
        for (const Message& message : of_one_node) {
          stage.messages.push_back({first + message.from, first + message.to, chunk * of_chunk_ + message.part * among_.parts,
                                    message.parts * among_.parts, chunk * among_.cells});
        }
      }
      plan_.stages.push_back(std::move(stage));
    }
  }

  void add_among(int chunk) {
    add_join(chunk);
    for (Stage stage : among_.stages) {
      stage.shift *= node_size_;
      for (Message& message : stage.messages) {
        message = {message.from * node_size_, message.to * node_size_, chunk * of_chunk_ + message.part * node_size_,
                   message.parts * node_size_, chunk * among_.cells + message.cell};
      }
      plan_.stages.push_back(std::move(stage));
    }
    add_join(chunk);
  }

  Plan take() { return std::move(plan_); }

 private:
  void add_join(int chunk) {
    Stage join;
    join.join = node_size_;
    join.first_cell = chunk * among_.cells;
    join.cells = among_.cells;
    plan_.stages.push_back(std::move(join));
  }

  Plan among_;
  int nodes_;
  int node_size_;
  int of_chunk_;  ///< parts
  Plan plan_;
};

}  // namespace

Plan two_level_plan(Operation operation, int nodes, int node_size, Plan (*between)(Operation, int, int), int between_chunks, int chunks) {
  Plan among = between(operation, nodes, between_chunks);
  if (node_size == 1) return among;
  TwoLevels levels(operation, nodes, node_size, std::move(among), chunks);
  const bool gathers_first = operation == Operation::all_reduce || operation == Operation::reduce_scatter;
  const bool spreads_after = operation != Operation::reduce_scatter;
  // A wave: chunk w is added up inside the nodes while w - 1 is among them and w - 2 is spread inside.
  for (int wave = 0; wave < chunks + 2; ++wave) {
    if (wave < chunks && gathers_first) levels.add_inside(Operation::reduce_scatter, wave);
    if (wave >= 1 && wave <= chunks) levels.add_among(wave - 1);
    if (wave >= 2 && spreads_after) levels.add_inside(Operation::all_gather, wave - 2);
  }
  return levels.take();
}

}  // namespace syncopate
