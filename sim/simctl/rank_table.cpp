#include "simctl/rank_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "base/table.hpp"
#include "base/text.hpp"

namespace syncopate {

namespace {

std::string describe_since(const RankComparison::Rank& rank, const RankComparison& comparison) {
  if (!rank.slow_since) return "-";
  if (*rank.slow_since == 0) return "the first step";
  const std::string place = fmt::format("step {} of {}", *rank.slow_since + 1, comparison.steps);
  return comparison.numbers.empty() ? place : fmt::format("{} (#{})", place, comparison.numbers[*rank.slow_since]);
}

/// "6 steps", "4 steps that all ranks have, ProfilerStep#5 to #8".
std::string describe_steps(const RankComparison& comparison) {
  std::string text = fmt::format("{} step{}", comparison.steps, comparison.steps == 1 ? "" : "s");
  if (comparison.numbers.empty()) return text;
  text += fmt::format(" that all ranks have, ProfilerStep#{}", comparison.numbers.front());
  if (comparison.numbers.back() != comparison.numbers.front()) text += fmt::format(" to #{}", comparison.numbers.back());
  return text;
}

std::string describe_layers(const RankComparison::Rank& rank) {
  std::vector<std::string> layers;
  // Less than half of what it takes longer is in kernels.
  if (rank.slow_since && rank.device_factor - 1 < (rank.factor - 1) / 2) layers.emplace_back("the host, between kernels");
  for (const RankComparison::Layer& layer : rank.layers) {
    layers.push_back(fmt::format("{} +{} ({:.2f} x)", layer.name, format_seconds(layer.more), layer.factor));
  }
  return layers.empty() ? "-" : fmt::format("{}", fmt::join(layers, ", "));
}

}  // namespace

std::string describe(const RankComparison& comparison) {
  std::vector<Cells> rows = {{"rank", "compute", "x median", "kernels x median", "waited for others", "slow since", "most in"}};
  for (const RankComparison::Rank& rank : comparison.ranks) {
    rows.push_back({std::to_string(rank.rank), rank.compute, fmt::format("{:.3f}", rank.factor), fmt::format("{:.3f}", rank.device_factor),
                    rank.waited ? Cell(*rank.waited) : Cell("-"), describe_since(rank, comparison), describe_layers(rank)});
  }
  std::string text = format_table(rows);
  text += fmt::format("compute: forward, backward and update of a step, without waits for communication; medians over {}\n",
                      describe_steps(comparison));
  if (comparison.steps_without_collectives > 0) {
    text += fmt::format("in {} of {} steps the ranks have different numbers of collectives; these are not compared\n",
                        comparison.steps_without_collectives, comparison.steps);
  }
  if (comparison.communication) {
    text += fmt::format("communication: {} collective{} a step, {} from the last rank's start to the end\n", comparison.collectives,
                        comparison.collectives == 1 ? "" : "s", format_seconds(*comparison.communication));
  }
  return text;
}

}  // namespace syncopate
