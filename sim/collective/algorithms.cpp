#include "collective/algorithms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/choice.hpp"
#include "base/document.hpp"
#include "collective/payload.hpp"

namespace syncopate {

namespace {

/// ceil(log2 N): the rounds of a tree or hypercube over N ranks.
double lg(int ranks) { return std::bit_width(static_cast<unsigned>(ranks) - 1U); }
double always_1(int /*ranks*/) { return 1.0; }
double twice_lg(int ranks) { return 2.0 * lg(ranks); }
double others(int ranks) { return ranks - 1.0; }
double twice_others(int ranks) { return 2.0 * others(ranks); }
double all_but_one(int ranks) { return (ranks - 1.0) / ranks; }

constexpr ClosedForm halving = {lg, all_but_one, 1.0, 1.0};
constexpr ClosedForm doubling = {lg, all_but_one, 1.0, 0.0};
constexpr ClosedForm down_a_tree = {lg, lg, 1.0, 0.0};

constexpr std::array algorithm_table = {
    Algorithm{"ring",
              "reduce-scatter, then all-gather, round a ring: the least bytes, 2(N-1) latencies",
              {twice_others, all_but_one, 2.0, 1.0},
              {others, all_but_one, 1.0, 1.0},
              {others, all_but_one, 1.0, 0.0},
              {others, all_but_one, 2.0, 0.0},
              ring_plan,
              false,
              false,
              ""},
    Algorithm{"binary-tree",
              "reduce to a root, then broadcast, along a binomial tree",
              {twice_lg, lg, 2.0, 1.0},
              halving,
              doubling,
              down_a_tree,
              binary_tree_plan,
              false,
              true,
              ""},
    Algorithm{"recursive-doubling",
              "exchange everything with partners 1, 2, 4, ... ranks away: the fewest latencies",
              {lg, lg, 1.0, 1.0},
              halving,
              doubling,
              down_a_tree,
              recursive_doubling_plan,
              false,
              false,
              ""},
    Algorithm{"halving-doubling",
              "reduce-scatter by recursive halving, then all-gather by doubling",
              {twice_lg, all_but_one, 2.0, 1.0},
              halving,
              doubling,
              down_a_tree,
              halving_doubling_plan,
              false,
              false,
              ""},
    Algorithm{
        "double-binary-tree",
        "two trees with half of the bytes each, pipelined; alpha-beta counts them as the MG-WFBP paper does",
        {twice_lg, always_1, 1.0, 1.0},
        halving,
        doubling,
        down_a_tree,
        double_binary_tree_plan,
        true,
        true,
        "double-binary-tree costs what the MG-WFBP paper says; its bandwidth term is below the bound 2(N-1)/N beta of any all-reduce"},
};

/// Every rank sends all bytes once, while it gets the sum. It has no plan, as the switches are no ranks.
constexpr Algorithm switches_row = {"in-network",
                                    "switches add up: every rank sends its bytes once, and gets the sum",
                                    {always_1, always_1, 1.0, 0.0},
                                    algorithm_table.front().reduce_scatter,
                                    algorithm_table.front().all_gather,
                                    algorithm_table.front().broadcast,
                                    nullptr,
                                    false,
                                    false,
                                    ""};

constexpr std::string_view two_level = "two-level";
constexpr std::string_view region_by_region = "by-region";
constexpr std::string_view automatic = "auto";
constexpr std::array<std::string_view, 3> candidate_names = {"ring", "halving-doubling", "recursive-doubling"};

std::vector<AllReduce> candidates() {
  std::vector<AllReduce> all;
  for (const Algorithm& row : algorithms()) {
    if (std::find(candidate_names.begin(), candidate_names.end(), row.name) != candidate_names.end())
      all.push_back({.algorithm = &row, .name = std::string(row.name)});
  }
  return all;
}

/// The name of an algorithm, or "two-level", "by-region", "in-network" or "auto".
void read_name(const Field& name, AllReduce& all_reduce) {
  all_reduce.two_level = name.json() == two_level;
  all_reduce.by_region = name.json() == region_by_region;
  if (name.json() == switches_row.name) all_reduce = in_network_all_reduce();
  if (name.json() == automatic) all_reduce.candidates = candidates();
  if (!all_reduce.two_level && !all_reduce.by_region && !all_reduce.in_network && all_reduce.candidates.empty()) {
    std::vector<std::string> names;
    for (const Algorithm& row : algorithms()) names.emplace_back(row.name);
    names.insert(names.end(),
                 {std::string(two_level), std::string(region_by_region), std::string(switches_row.name), std::string(automatic)});
    choose_name(name, names);
    all_reduce.algorithm = &choose(name, algorithms());
  }
  all_reduce.name = name.text();
}

struct AcrossRow {
  std::string_view name;
  bool gpus;
};
constexpr std::array across_rows = {AcrossRow{"nodes", false}, AcrossRow{"gpus", true}};

void read_across(const Field& field, AllReduce& all_reduce) {
  if (!choose<AcrossRow>(field, across_rows).gpus) return;
  if (all_reduce.name != ring().name) {
    field.fail_because(fmt::format("only a ring goes across all GPUs in one level; leave \"across\" out, or use \"{}\"", ring().name));
  }
  all_reduce = ring_across_gpus();
}

void read_between(const Field& field, AllReduce& all_reduce) {
  if (field.json() == two_level || field.json() == region_by_region || field.json() == automatic) {
    field.fail(fmt::format("the algorithm between the {}, such as \"ring\"", all_reduce.by_region ? "regions" : "nodes"));
  }
  const Algorithm& algorithm = choose(field, algorithms());
  if (!all_reduce.by_region) {
    all_reduce.algorithm = &algorithm;
    return;
  }
  if (algorithm.is_pipelined) {
    field.fail_because(
        fmt::format("between regions the vector is sent as a whole, but {} needs chunks; use \"binary-tree\"", algorithm.name));
  }
  all_reduce.between_regions = &algorithm;
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

const ClosedForm& Algorithm::form(Operation operation) const {
  switch (operation) {
    case Operation::all_reduce: return all_reduce;
    case Operation::reduce_scatter: return reduce_scatter;
    case Operation::all_gather: return all_gather;
    case Operation::broadcast: break;
  }
  return broadcast;
}

std::span<const Algorithm> algorithms() { return algorithm_table; }

const Algorithm& ring() { return algorithm_table.front(); }

const Algorithm& switches() { return switches_row; }

AllReduce default_all_reduce() { return {.algorithm = &ring(), .name = std::string(ring().name)}; }

AllReduce automatic_all_reduce() { return {.algorithm = &ring(), .name = std::string(automatic), .candidates = candidates()}; }

AllReduce in_network_all_reduce() { return {.algorithm = &switches_row, .name = std::string(switches_row.name), .in_network = true}; }

AllReduce ring_across_gpus() { return {.algorithm = &ring(), .name = fmt::format("{} across gpus", ring().name), .across_gpus = true}; }

AllReduce read_all_reduce(const Field& field) {
  AllReduce all_reduce = default_all_reduce();
  if (!field.is_object()) {
    read_name(field, all_reduce);
    return all_reduce;
  }
  Object fields(field);
  read_name(fields.at("name"), all_reduce);
  if (all_reduce.two_level || all_reduce.by_region) {
    if (const auto between = fields.find("between")) read_between(*between, all_reduce);
  }
  if (all_reduce.two_level || all_reduce.in_network) {
    if (const auto inside = fields.find("inside")) {
      choose_name(*inside, {std::string(ring().name), std::string(switches_row.name)});
      all_reduce.inside_in_network = inside->json() == switches_row.name;
      all_reduce.in_network = all_reduce.in_network || all_reduce.inside_in_network;
    }
  }
  if (const auto across = fields.find("across")) read_across(*across, all_reduce);
  if (const auto chunk = fields.find("chunk")) {
    all_reduce.chunk = chunk->bytes();
    const bool takes_chunks =
        all_reduce.two_level || all_reduce.by_region || (all_reduce.candidates.empty() && all_reduce.algorithm->takes_chunks);
    if (all_reduce.in_network || !takes_chunks) {
      chunk->fail_because(
          fmt::format("{} has nothing to pipeline; leave \"chunk\" out, or use a tree, two-level or by-region", all_reduce.name));
    }
  }
  fields.finish();
  return all_reduce;
}

Chunks chunks_of(const AllReduce& all_reduce, Operation operation, const NodeGroups& groups, Bytes vector, const LongestWay& way) {
  const int nodes = groups.nodes;
  const Bytes bytes = contribution(operation, vector, nodes * groups.ranks_per_node);
  constexpr double most_messages = 1 << 22;         // between nodes; chunks are made larger to stay below
  constexpr double most_region_messages = 1 << 19;  // along a region's chain
  const bool pipelined = all_reduce.algorithm->is_pipelined;
  Chunks chunks;
  if (pipelined) chunks.between = double_tree_chunks(nodes, bytes, way);
  if (all_reduce.by_region) {
    const double wanted = all_reduce.chunk == Bytes(0) ? groups.largest_region : std::ceil(bytes / all_reduce.chunk);
    chunks.between = static_cast<int>(std::clamp(wanted, 1.0, most_region_messages / std::max(1, groups.largest_region)));
    return chunks;
  }
  if (all_reduce.chunk == Bytes(0)) return chunks;
  const double trees = pipelined && !all_reduce.two_level ? 2.0 : 1.0;
  const double most = std::min(4096.0, std::max(1.0, most_messages / (2.0 * nodes)));
  const int count = static_cast<int>(std::clamp(std::ceil(bytes / all_reduce.chunk / trees), 1.0, most));
  if (all_reduce.two_level) chunks.levels = count;
  if (all_reduce.two_level && pipelined) chunks.between = double_tree_chunks(nodes, bytes / count, way);
  if (!all_reduce.two_level || (all_reduce.algorithm->takes_chunks && !pipelined)) chunks.between = count;
  return chunks;
}

Plan make_plan(const AllReduce& all_reduce, Operation operation, const NodeGroups& groups, Chunks chunks) {
  const bool by_region = all_reduce.by_region && operation == Operation::all_reduce && !groups.regions.empty();
  const Algorithm& regions = all_reduce.between_regions == nullptr ? ring() : *all_reduce.between_regions;
  Plan among = by_region ? region_plan(groups.regions, chunks.between, regions.plan)
                         : all_reduce.algorithm->plan(operation, groups.nodes, chunks.between);
  return two_level_plan(operation, groups.nodes, groups.ranks_per_node, std::move(among), chunks.between, chunks.levels);
}

}  // namespace syncopate
