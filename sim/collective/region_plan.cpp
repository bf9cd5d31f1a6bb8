#include <algorithm>
#include <map>

#include "base/indexed.hpp"
#include "collective/plan.hpp"

namespace syncopate {

namespace {

using Members = std::map<std::size_t, std::vector<int>>;  ///< by region

Members members_of(const std::vector<std::size_t>& regions) {
  Members members;
  for (std::size_t rank = 0; rank < regions.size(); ++rank) members[regions[rank]].push_back(static_cast<int>(rank));
  return members;
}

/// Passes a piece along the chain of every region: to its first rank if `towards_first`, else from it.
void pass_along(const Members& members, int longest, int first_part, int parts, bool towards_first, Plan& plan) {
  for (int hop = 0; hop + 1 < longest; ++hop) {
    Stage stage;
    stage.reduces = towards_first;
    for (const auto& [region, ranks] : members) {
      const int hops = static_cast<int>(ranks.size()) - 1;
      if (hop >= hops) continue;
      const auto near = at(towards_first ? hops - hop - 1 : hop);
      const int here = ranks[near];
      const int beyond = ranks[near + 1];
      stage.messages.push_back({towards_first ? beyond : here, towards_first ? here : beyond, first_part, parts, 0});
    }
    plan.steps.emplace_back(std::move(stage));
  }
}

}  // namespace

int largest_region(const std::vector<std::size_t>& regions) {
  std::size_t largest = 1;
  for (const auto& [region, ranks] : members_of(regions)) largest = std::max(largest, ranks.size());
  return static_cast<int>(largest);
}

Plan region_plan(const std::vector<std::size_t>& regions, int pieces, Plan (*among)(Operation, int, int)) {
  const Members members = members_of(regions);
  std::vector<int> first;
  for (const auto& [region, ranks] : members) first.push_back(ranks.front());
  std::sort(first.begin(), first.end());
  const int longest = largest_region(regions);
  const auto count = static_cast<int>(first.size());
  const Plan between = count > 1 ? among(Operation::all_reduce, count, 1) : Plan();

  Plan plan = {.operation = Operation::all_reduce,
               .ranks = static_cast<int>(regions.size()),
               .parts = pieces * between.parts,
               .block = pieces * between.parts};
  for (int piece = 0; piece < pieces; ++piece) pass_along(members, longest, piece * between.parts, between.parts, true, plan);
  for (const PlanStep& step : between.steps) {
    Stage stage = std::get<Stage>(step);
    stage.shift *= pieces;
    for (Message& message : stage.messages) {
      message.from = first[at(message.from)];
      message.to = first[at(message.to)];
      message.part *= pieces;
      message.parts *= pieces;
    }
    plan.steps.emplace_back(std::move(stage));
  }
  for (int piece = 0; piece < pieces; ++piece) pass_along(members, longest, piece * between.parts, between.parts, false, plan);
  return plan;
}

}  // namespace syncopate
