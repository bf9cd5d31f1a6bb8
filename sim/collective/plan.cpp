#include "collective/plan.hpp"

#include <algorithm>

#include "base/indexed.hpp"

namespace syncopate {

double count_messages(const Plan& plan) {
  double messages = 0.0;
  for (const PlanStep& step : plan.steps) {
    if (const auto* stage = std::get_if<Stage>(&step))
      messages += static_cast<double>(stage->repeats) * plan.segments(*stage) * static_cast<double>(stage->messages.size());
  }
  return messages;
}

namespace {

/// Whether every rank that is a multiple of `every` sends one message and receives one, all with the same number of parts.
bool is_balanced(const Stage& stage, int ranks, int every) {
  if (stage.messages.size() != at(ranks / every)) return false;
  Indexed<int> seen(ranks);
  for (const Message& message : stage.messages) {
    if (message.parts != stage.messages.front().parts || message.from % every != 0 || message.to % every != 0) return false;
    seen[message.from] |= 1;
    seen[message.to] |= 2;
  }
  for (int rank = 0; rank < ranks; rank += every) {
    if (seen[rank] != 3) return false;
  }
  return true;
}

}  // namespace

bool is_symmetric(const Plan& plan) {
  if (plan.cells > 1) return false;
  bool first_ranks_ahead = false;
  for (const PlanStep& step : plan.steps) {
    const auto* stage = std::get_if<Stage>(&step);
    if (stage == nullptr) {
      first_ranks_ahead = false;
    } else if (plan.node_size > 1 && is_balanced(*stage, plan.ranks, plan.node_size)) {
      first_ranks_ahead = true;
    } else if (first_ranks_ahead || !is_balanced(*stage, plan.ranks, 1)) {
      return false;
    }
  }
  return !first_ranks_ahead;
}

Plan fold(const Plan& plan) {
  Plan folded = plan;
  folded.ranks = folded.node_size = 1;
  for (PlanStep& step : folded.steps) {
    auto* stage = std::get_if<Stage>(&step);
    if (stage == nullptr) {
      step = Stage();
    } else if (!stage->messages.empty()) {
      stage->messages.resize(1);
      stage->messages.front().from = stage->messages.front().to = 0;
    }
  }
  return folded;
}

}  // namespace syncopate
