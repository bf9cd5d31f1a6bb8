#include "collective/collectives.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "base/choice.hpp"
#include "collective/collective.hpp"

namespace syncopate {

namespace {

/// log2 N, rounded up: the rounds of a tree or hypercube over N ranks.
double lg(int ranks) { return std::bit_width(static_cast<unsigned>(ranks) - 1U); }
double one(int /*ranks*/) { return 1.0; }
double twice_lg(int ranks) { return 2.0 * lg(ranks); }
double all_but_one(int ranks) { return (ranks - 1.0) / ranks; }

constexpr std::array table = {
    Collective{"ring",
               "reduce-scatter, then all-gather, round a ring: the least bytes, 2(N-1) latencies",
               {[](int ranks) { return 2.0 * (ranks - 1); }, all_but_one, 2.0, [](int ranks) { return ranks - 1.0; }},
               ""},
    Collective{"binary-tree", "reduce to a root, then broadcast, along a binomial tree", {twice_lg, lg, 2.0, lg}, ""},
    Collective{
        "recursive-doubling", "exchange everything with partners 1, 2, 4, ... ranks away: the fewest latencies", {lg, lg, 1.0, lg}, ""},
    Collective{
        "halving-doubling", "reduce-scatter by recursive halving, then all-gather by doubling", {twice_lg, all_but_one, 2.0, lg}, ""},
    Collective{
        "double-binary-tree",
        "two trees with half of the bytes each, as the MG-WFBP paper counts them",
        {twice_lg, one, 1.0, lg},
        "double-binary-tree costs what the MG-WFBP paper says; its bandwidth term is below the bound 2(N-1)/N beta of any all-reduce"},
};

constexpr std::string_view two_level = "two-level";

const Collective& read_between(const Field& field) {
  if (field.json() == two_level) field.fail("the algorithm among the nodes, such as \"ring\"");
  return choose(field, collectives());
}

}  // namespace

std::string_view to_string(Operation operation) {
  switch (operation) {
    case Operation::all_reduce: return "all-reduce";
    case Operation::reduce_scatter: return "reduce-scatter";
    case Operation::all_gather: return "all-gather";
    case Operation::broadcast: return "broadcast";
  }
  return "?";
}

std::span<const Collective> collectives() { return table; }

const Collective& read_collective(const Field& field) {
  if (!field.json().is_object()) return field.json() == two_level ? table.front() : choose(field, collectives());
  Object fields(field);
  const Field name = fields.at("name");
  if (name.json() != two_level) {
    const Collective& collective = choose(name, collectives());
    fields.finish();
    return collective;
  }
  fields.not_built_yet("chunk", "two levels that overlap are");
  const auto between = fields.find("between");
  const Collective& collective = between ? read_between(*between) : table.front();
  fields.finish();
  return collective;
}

}  // namespace syncopate
