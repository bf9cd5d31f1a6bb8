#include "simctl/device_table.hpp"

#include <fmt/format.h>

#include "base/table.hpp"
#include "base/text.hpp"

namespace syncopate {

std::vector<CostRow> cost_rows(const DeviceProfile& profile) {
  std::vector<CostRow> rows;
  const auto add_both = [&](std::string_view layers, const DeviceProfile::Direction& direction) {
    rows.push_back({std::string(layers), "forward", direction.forward});
    rows.push_back({std::string(layers), "backward", direction.backward});
  };
  for (const auto& [cost_class, direction] : profile.costs) add_both(name_of(cost_class), direction);
  if (profile.others) add_both("others", *profile.others);
  rows.push_back({"update", "per tensor", profile.update});
  return rows;
}

std::string format_costs(const DeviceProfile& profile) {
  std::vector<Cells> table = {{"layers", "direction", "launch", "GMAC/s", "activations GB/s", "weights GB/s"}};
  const auto rate = [](double inverse) { return inverse > 0 ? fmt::format("{:.4g}", 1e-9 / inverse) : std::string("-"); };
  for (const CostRow& row : cost_rows(profile)) {
    table.push_back({row.layers, row.direction, format_seconds(row.cost.launch), rate(row.cost.s_per_mac), rate(row.cost.activations.value),
                     rate(row.cost.weights.value)});
  }
  return format_table(table);
}

}  // namespace syncopate
