#include "base/indexed.hpp"
#include "collective/plan.hpp"

namespace syncopate {

namespace {

/// ranks - 1 repetitions. In the first one, rank i sends part i + offset to the next rank; later it forwards the part just received.
Stage round_trip(int ranks, int offset, bool reduces) {
  Stage stage;
  stage.repeats = ranks - 1;
  stage.shift = -1;
  stage.reduces = reduces;
  stage.messages.reserve(at(ranks));
  for (int rank = 0; rank < ranks; ++rank) stage.messages.push_back({rank, (rank + 1) % ranks, (rank + offset + ranks) % ranks, 1});
  return stage;
}

void add_chain(Plan& plan) {
  for (int step = 0; step < 2 * (plan.ranks - 1); ++step) {
    Stage stage;
    for (int rank = 0; rank < plan.ranks - 1; ++rank) {
      if (step - rank >= 0 && step - rank < plan.parts) stage.messages.push_back({rank, rank + 1, step - rank, 1});
    }
    plan.steps.emplace_back(std::move(stage));
  }
}

}  // namespace

Plan ring_plan(Operation operation, int ranks, int /*chunks*/) {
  Plan plan = {.operation = operation, .ranks = ranks, .parts = ranks, .block = ranks};
  if (ranks == 1) return plan;
  switch (operation) {
    case Operation::all_reduce: plan.steps = {round_trip(ranks, 0, true), round_trip(ranks, 1, false)}; break;
    case Operation::reduce_scatter: plan.steps = {round_trip(ranks, -1, true)}; break;
    case Operation::all_gather: plan.steps = {round_trip(ranks, 0, false)}; break;
    case Operation::broadcast: add_chain(plan); break;
  }
  return plan;
}

}  // namespace syncopate
