#include "output/row_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/table.hpp"
#include "base/text.hpp"
#include "output/contest.hpp"

namespace syncopate {

namespace {

template <class Leaves>
std::string setting_but(const Row& row, const Leaves& leaves_out) {
  std::vector<std::string> parts;
  for (const auto& [pointer, value] : row.sweep) {
    if (is_choice(pointer) || leaves_out(pointer)) continue;
    const std::string label = value_label(value);
    parts.push_back(pointer == "/cluster" || pointer == "/trace" ? label : fmt::format("{} {}", last_key(pointer), label));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string last_key(const std::string& pointer) { return pointer.substr(pointer.rfind('/') + 1); }

std::string with_staleness(const std::string& name, const Row& row) {
  return row.metrics.staleness_max > 0.0 ? fmt::format("{} (staleness {})", name, rounded(row.metrics.staleness_mean, 2)) : name;
}

std::string choice_of(const Row& row, const std::string& but) {
  std::vector<std::string> parts;
  bool names_schedule = false;
  for (const auto& [pointer, value] : row.sweep) {
    if (!is_choice(pointer) || pointer == but) continue;
    names_schedule = names_schedule || pointer == "/schedule" || pointer == "/schedule/name";
    const std::string key = last_key(pointer);
    const bool speaks_for_itself = value.is_object() || key == "schedule" || key == "name" || key == "all_reduce";
    parts.push_back(speaks_for_itself ? value_label(value) : fmt::format("{} {}", key, value_label(value)));
  }
  if (!names_schedule) parts.insert(parts.begin(), row.schedule);
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string name_of(const Row& row, const std::string& but) { return with_staleness(choice_of(row, but), row); }

std::string setting_of(const Row& row) {
  return setting_but(row, [](const std::string& /*pointer*/) { return false; });
}

std::string place_of(const Row& row, const std::string& but) {
  const std::array said = {std::string("/cluster"), std::string("/cluster/name"), std::string("/cluster/nodes"), but};
  const std::string setting =
      setting_but(row, [&](const std::string& pointer) { return std::find(said.begin(), said.end(), pointer) != said.end(); });
  const std::string workers = row.workers == row.nodes ? "" : fmt::format(" ({} GPUs)", row.workers);
  return fmt::format("{} x {}{}{}", row.nodes, row.cluster, workers, setting.empty() ? "" : fmt::format(" ({})", setting));
}

}  // namespace syncopate
