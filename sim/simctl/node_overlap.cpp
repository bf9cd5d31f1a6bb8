#include "simctl/node_overlap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <string>

#include "base/errors.hpp"
#include "base/fields.hpp"

namespace syncopate {

namespace {

using SlowdownByBlocks = std::map<int, double>;

/// By kind of compute. Rows without "blocks" are of work that is not limited to some.
std::map<std::string, SlowdownByBlocks> read_slowdowns(const Document& node) {
  constexpr int most_blocks = 1'000'000;
  constexpr double slowest = 1e3;
  Object file{Field(node)};
  file.format("node/1", true);
  const Field rows = file.at("overlap");
  std::map<std::string, SlowdownByBlocks> found;
  if (!rows.is_list() || !rows.json().empty()) {
    for (const Field& element : rows.list()) {
      Object row(element);
      const auto blocks = row.find("blocks");
      if (!blocks) continue;
      found[row.at("compute").text()][static_cast<int>(blocks->integer(1, most_blocks))] = row.at("slowdown").number(-1.0, slowest);
    }
  }
  if (found.empty()) rows.fail_because("no row has \"blocks\"; measure the node again with this version's nodeprobe");
  return found;
}

double interpolate(const SlowdownByBlocks& slowdowns, int blocks) {
  const auto above = slowdowns.lower_bound(blocks);
  if (above->first == blocks) return above->second;
  const auto below = std::prev(above);
  const double part = static_cast<double>(blocks - below->first) / (above->first - below->first);
  return below->second + part * (above->second - below->second);
}

struct MeanSlowdown {
  double sum = 0.0;
  int count = 0;

  void add(double slowdown) {
    sum += slowdown;
    ++count;
  }
  double value() const { return sum / count; }
};

}  // namespace

double overlap_slowdown_of_node(const Document& node, int channels) {
  const std::map<std::string, SlowdownByBlocks> found = read_slowdowns(node);
  int fewest = 1;
  int most = std::numeric_limits<int>::max();
  for (const auto& [compute, slowdowns] : found) {
    fewest = std::max(fewest, slowdowns.begin()->first);
    most = std::min(most, slowdowns.rbegin()->first);
  }
  if (channels < fewest || channels > most) {
    const std::string measured = fewest == most ? fmt::format("{}", most) : fmt::format("{} to {}", fewest, most);
    throw UsageError(fmt::format("--channels {}: {} has slowdowns beside {} blocks; choose such a number, or measure the node again",
                                 channels, node.file(), measured));
  }
  MeanSlowdown products;
  MeanSlowdown others;
  for (const auto& [compute, slowdowns] : found)
    (compute.starts_with("matrix product") ? products : others).add(interpolate(slowdowns, channels));
  if (others.count == 0) return std::max(0.0, products.value());
  if (products.count == 0) return std::max(0.0, others.value());
  return std::max(0.0, (products.value() + others.value()) / 2);
}

}  // namespace syncopate
