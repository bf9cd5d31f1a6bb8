#include <algorithm>

#include "collective/plan.hpp"

namespace syncopate {

namespace {

/// A ring inside every node, as a stage over all ranks; each of its parts is `size` parts of the whole plan, from `first` on.
Stage inside_nodes(const Stage& ring, int nodes, int node_size, int first, int size, int cell) {
  Stage stage = ring;
  stage.inside = true;
  stage.messages.clear();
  stage.messages.reserve(static_cast<std::size_t>(nodes) * ring.messages.size());
  for (int node = 0; node < nodes; ++node) {
    for (const Message& message : ring.messages) {
      stage.messages.push_back(
          {node * node_size + message.from, node * node_size + message.to, first + message.part * size, message.parts * size, cell});
    }
  }
  return stage;
}

/// Repeats written out, because parts of a chunk do not wrap round as those of the whole do.
std::vector<Stage> written_out(const Stage& stage, int parts) {
  std::vector<Stage> all;
  for (int repeat = 0; repeat < stage.repeats; ++repeat) {
    Stage once = stage;
    once.repeats = 1;
    for (Message& message : once.messages) {
      message.part = static_cast<int>(((message.part + static_cast<long>(repeat) * stage.shift) % parts + parts) % parts);
    }
    all.push_back(std::move(once));
  }
  return all;
}

}  // namespace

Plan two_level_plan(Operation operation, int nodes, int node_size, Plan (*between)(Operation, int, int), int between_chunks, int chunks) {
  const Plan among = between(operation, nodes, between_chunks);
  if (node_size == 1) return among;
  Plan plan = {.operation = operation,
               .ranks = nodes * node_size,
               .node_size = node_size,
               .parts = chunks * among.parts * node_size,
               .cells = chunks * among.cells,
               .stages = {}};
  const int of_chunk = among.parts * node_size;
  const auto join = [&](int chunk) {
    plan.stages.push_back({.messages = {}, .join = node_size, .first_cell = chunk * among.cells, .cells = among.cells});
  };
  const auto add_inside = [&](Operation inside, int chunk) {
    const Plan ring = ring_plan(inside, node_size, 1);
    for (const Stage& stage : ring.stages) {
      for (const Stage& once : written_out(stage, node_size)) {
        plan.stages.push_back(inside_nodes(once, nodes, node_size, chunk * of_chunk, among.parts, chunk * among.cells));
      }
    }
  };
  const auto add_among = [&](int chunk) {
    for (const Stage& stage : among.stages) {
      const bool must_not_wrap = stage.repeats > 1 && chunks > 1;
      for (Stage once : must_not_wrap ? written_out(stage, among.parts) : std::vector<Stage>{stage}) {
        once.shift *= node_size;
        for (Message& message : once.messages) {
          message = {message.from * node_size, message.to * node_size, chunk * of_chunk + message.part * node_size,
                     message.parts * node_size, chunk * among.cells + message.cell};
        }
        plan.stages.push_back(std::move(once));
      }
    }
  };
  const bool gathers_first = operation == Operation::all_reduce || operation == Operation::reduce_scatter;
  const bool spreads_after = operation != Operation::reduce_scatter;
  // A wave: chunk w is added up inside the nodes while w - 1 is among them and w - 2 is spread inside.
  for (int wave = 0; wave < chunks + 2; ++wave) {
    if (wave < chunks && gathers_first) add_inside(Operation::reduce_scatter, wave);
    if (wave >= 1 && wave <= chunks) {
      join(wave - 1);
      add_among(wave - 1);
      join(wave - 1);
    }
    if (wave >= 2 && spreads_after) add_inside(Operation::all_gather, wave - 2);
  }
  return plan;
}

}  // namespace syncopate
