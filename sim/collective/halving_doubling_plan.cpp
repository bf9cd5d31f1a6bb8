#include <algorithm>
#include <bit>

#include "collective/plan.hpp"

namespace syncopate {

namespace {

bool is_power_of_two(int ranks) { return std::has_single_bit(static_cast<unsigned>(ranks)); }

/// The powers of two below `ranks`.
std::vector<int> distances(int ranks) {
  std::vector<int> all;
  for (int distance = 1; distance < ranks; distance *= 2) all.push_back(distance);
  return all;
}

std::vector<int> reversed(std::vector<int> distances) {
  std::reverse(distances.begin(), distances.end());
  return distances;
}

/// Partners exchange halves: each sends the half that the partner keeps.
Stage halve(int ranks, int distance) {
  Stage stage;
  stage.reduces = true;
  for (int rank = 0; rank < ranks; ++rank) {
    const int partner = rank ^ distance;
    stage.messages.push_back({rank, partner, partner & ~(distance - 1), distance});
  }
  return stage;
}

/// Partners exchange everything that they have gathered.
Stage double_up(int ranks, int distance) {
  Stage stage;
  for (int rank = 0; rank < ranks; ++rank) stage.messages.push_back({rank, rank ^ distance, rank & ~(distance - 1), distance});
  return stage;
}

/// A round of Bruck's algorithm: a rank sends the parts that it has gathered, beginning with its own, to rank - distance.
Stage pass_down(int ranks, int distance) {
  Stage stage;
  const int parts = std::min(distance, ranks - distance);
  for (int rank = 0; rank < ranks; ++rank) stage.messages.push_back({rank, (rank - distance + ranks) % ranks, rank, parts});
  return stage;
}

/// The mirror image of pass_down: a rank sends its partial sums of those parts to rank + distance.
Stage pass_up(int ranks, int distance) {
  Stage stage = pass_down(ranks, distance);
  stage.reduces = true;
  for (Message& message : stage.messages) std::swap(message.from, message.to);
  return stage;
}

}  // namespace

Plan halving_doubling_plan(Operation operation, int ranks, int chunks) {
  if (operation == Operation::broadcast) return binary_tree_plan(operation, ranks, chunks);
  Plan plan = {.operation = operation, .ranks = ranks, .parts = ranks, .block = ranks};
  const std::vector<int> ascending = distances(ranks);
  if (operation != Operation::all_gather) {
    for (const int distance : reversed(ascending)) {
      plan.steps.emplace_back(is_power_of_two(ranks) ? halve(ranks, distance) : pass_up(ranks, distance));
    }
  }
  if (operation != Operation::reduce_scatter) {
    for (const int distance : ascending) {
      plan.steps.emplace_back(is_power_of_two(ranks) ? double_up(ranks, distance) : pass_down(ranks, distance));
    }
  }
  return plan;
}

Plan recursive_doubling_plan(Operation operation, int ranks, int chunks) {
  if (operation != Operation::all_reduce) return halving_doubling_plan(operation, ranks, chunks);
  Plan plan = {.ranks = ranks};
  const int doubling = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  const int folded = ranks - doubling;  // pairs in which the even rank does not take part
  const auto rank_of = [folded](int number) { return number < folded ? 2 * number + 1 : number + folded; };
  Stage fold;
  Stage unfold;
  fold.reduces = true;
  for (int pair = 0; pair < folded; ++pair) {
    fold.messages.push_back({2 * pair, 2 * pair + 1});
    unfold.messages.push_back({2 * pair + 1, 2 * pair});
  }
  if (folded > 0) plan.steps.emplace_back(fold);
  for (const int distance : distances(doubling)) {
    Stage stage;
    stage.reduces = true;
    for (int number = 0; number < doubling; ++number) stage.messages.push_back({rank_of(number), rank_of(number ^ distance)});
    plan.steps.emplace_back(std::move(stage));
  }
  if (folded > 0) plan.steps.emplace_back(unfold);
  return plan;
}

}  // namespace syncopate
