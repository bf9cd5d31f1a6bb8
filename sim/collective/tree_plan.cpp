#include <algorithm>

#include "collective/plan.hpp"

namespace syncopate {

namespace {

/// One stage of the binomial tree, towards the root, between ranks `distance` apart. Each chunk has its own cell.
Stage towards_root(int ranks, int distance, int chunk) {
  Stage stage;
  stage.reduces = true;
  for (int parent = 0; parent + distance < ranks; parent += 2 * distance) {
    stage.messages.push_back({parent + distance, parent, chunk, 1, chunk});
  }
  return stage;
}

Stage away_from_root(int ranks, int distance, int chunk) {
  Stage stage = towards_root(ranks, distance, chunk);
  stage.reduces = false;
  for (Message& message : stage.messages) std::swap(message.from, message.to);
  return stage;
}

}  // namespace

Plan binary_tree_plan(Operation operation, int ranks, int chunks) {
  if (operation == Operation::all_gather || operation == Operation::reduce_scatter) {
    return halving_doubling_plan(operation, ranks, chunks);
  }
  Plan plan = {.operation = operation, .ranks = ranks, .parts = chunks, .block = chunks, .cells = chunks};
  int top = 1;
  while (2 * top < ranks) top *= 2;
  if (ranks == 1) return plan;
  if (operation == Operation::all_reduce) {
    for (int chunk = 0; chunk < chunks; ++chunk) {
      for (int distance = 1; distance <= top; distance *= 2) plan.steps.emplace_back(towards_root(ranks, distance, chunk));
    }
  }
  for (int chunk = 0; chunk < chunks; ++chunk) {
    for (int distance = top; distance >= 1; distance /= 2) plan.steps.emplace_back(away_from_root(ranks, distance, chunk));
  }
  return plan;
}

}  // namespace syncopate
