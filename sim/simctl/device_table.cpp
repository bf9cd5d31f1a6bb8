#include "simctl/device_table.hpp"

#include <fmt/format.h>

#include "base/table.hpp"
#include "base/text.hpp"

namespace syncopate {

std::string format_costs(const DeviceProfile& profile) {
  std::vector<Cells> table = {{"layers", "direction", "launch", "GMAC/s", "activations GB/s", "weights GB/s"}};
  const auto rate = [](double inverse) { return inverse > 0 ? fmt::format("{:.4g}", 1e-9 / inverse) : std::string("-"); };
  const auto add = [&](std::string_view layers, std::string_view direction, const LayerCost& cost) {
    table.push_back({std::string(layers), std::string(direction), format_seconds(cost.launch), rate(cost.s_per_mac),
                     rate(cost.activations.value), rate(cost.weights.value)});
  };
  const auto add_both = [&](std::string_view layers, const DeviceProfile::Direction& direction) {
    add(layers, "forward", direction.forward);
    add(layers, "backward", direction.backward);
  };
  for (const auto& [cost_class, direction] : profile.costs) add_both(name_of(cost_class), direction);
  if (profile.others) add_both("others", *profile.others);
  add("update", "per tensor", profile.update);
  return format_table(table);
}

}  // namespace syncopate
