#include "output/swept_effects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/quantities.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "output/row_names.hpp"
#include "output/standing.hpp"

namespace syncopate {

namespace {

/// Whether it says what is trained on, and not how long or how often to simulate it.
bool is_property(const std::string& pointer) {
  return pointer != "/cluster/nodes" && pointer != "/seed" && pointer != "/replicates" && !pointer.starts_with("/iterations");
}

const Json* value_at(const Row& row, const std::string& pointer) {
  const auto found = std::find_if(row.sweep.begin(), row.sweep.end(), [&](const auto& swept) { return swept.first == pointer; });
  return found == row.sweep.end() ? nullptr : &found->second;
}

std::optional<double> number_at(const Row& row, const std::string& pointer) {
  const Json* value = value_at(row, pointer);
  return value == nullptr ? std::nullopt : as_number(*value);
}

double samples(const Row& row) { return static_cast<double>(row.batch) * row.workers; }

/// The row with its times per sample.
Row per_sample(Row row) {
  const double count = samples(row);
  row.metrics.iteration = row.metrics.iteration / count;
  if (row.interval) row.interval = Interval{row.interval->start / count, row.interval->end / count};
  for (Seconds& time : row.replicates) time = time / count;
  return row;
}

bool differ_only_at(const std::string& pointer, const Row& a, const Row& b) {
  return std::equal(a.sweep.begin(), a.sweep.end(), b.sweep.begin(), b.sweep.end(), [&](const auto& swept_a, const auto& swept_b) {
    return swept_a.first == swept_b.first && (swept_a.first == pointer || swept_a == swept_b);
  });
}

/// Of the bandwidth, where messages are simulated and it is that of the busiest link.
std::string use_of(const std::string& pointer, const Row& row) {
  if (pointer != "/cluster/link/bandwidth" || !row.details.contains("links")) return "";
  const Json& busiest = row.details["links"][0];
  const double bandwidth = *number_at(row, pointer);
  if (std::abs(busiest["bandwidth_Bps"].get<double>() - bandwidth) > rounding * bandwidth) return "";
  const double share = busiest["utilisation"].get<double>();
  return fmt::format("; of {}, its busiest link {} {}/s ({})", value_label(*value_at(row, pointer)),
                     share > 1.0 ? "would have to carry" : "carries", format_bytes(Bytes(share * bandwidth)),
                     percent(share, share < 0.1 ? 1 : 0));
}

std::string effect(const std::string& pointer, const Row& smallest, const Row& largest) {
  const Row before = per_sample(smallest);
  const Row after = per_sample(largest);
  const bool is_faster = after.metrics.iteration < before.metrics.iteration;
  if (standing(is_faster ? before : after, is_faster ? after : before) != Standing::slower) return "";
  const double speedup = before.metrics.iteration / after.metrics.iteration;
  const bool by_samples = samples(smallest) != samples(largest);
  const std::string difference = by_samples  ? fmt::format("trains {} times as many samples per second", rounded(speedup, 3))
                                 : is_faster ? fmt::format("is {} times as fast", rounded(speedup, 3))
                                             : fmt::format("takes {} times as long", rounded(1.0 / speedup, 3));
  return fmt::format("On {}, {} {} with {} {} as with {}{}.", place_of(largest, pointer), name_of(largest, pointer), difference,
                     last_key(pointer), value_label(*value_at(largest, pointer)), value_label(*value_at(smallest, pointer)),
                     use_of(pointer, largest));
}

std::string effect(const std::string& pointer, const std::vector<Row>& rows) {
  if (!std::all_of(rows.begin(), rows.end(), [&](const Row& row) { return number_at(row, pointer).has_value(); })) return "";
  const auto along = [&](const Row& a, const Row& b) { return *number_at(a, pointer) < *number_at(b, pointer); };
  const auto extremes = std::minmax_element(rows.begin(), rows.end(), along);
  const Row& least = *extremes.first;
  const Row& most = *extremes.second;
  if (!along(least, most)) return "";
  const int nodes = std::max_element(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.nodes < b.nodes; })->nodes;
  const Row* fastest = nullptr;
  for (const Row& row : rows) {
    if (row.nodes != nodes || along(row, most)) continue;
    if (fastest == nullptr || row.metrics.throughput > fastest->metrics.throughput) fastest = &row;
  }
  if (fastest == nullptr) return "";
  const auto same =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return !along(least, row) && differ_only_at(pointer, row, *fastest); });
  return same == rows.end() ? "" : effect(pointer, *same, *fastest);
}

}  // namespace

std::vector<std::string> swept_effects(const std::vector<Row>& rows) {
  std::vector<std::string> sentences;
  if (rows.empty()) return sentences;
  for (const auto& [pointer, value] : rows.front().sweep) {
    if (!is_property(pointer)) continue;
    if (std::string sentence = effect(pointer, rows); !sentence.empty()) sentences.push_back(std::move(sentence));
  }
  return sentences;
}

}  // namespace syncopate
