#pragma once

#include <string>
#include <vector>

#include "device/device_profile.hpp"

namespace syncopate {

/// What layers of a class cost in a direction.
struct CostRow {
  std::string layers;
  std::string direction;
  LayerCost cost;
};
std::vector<CostRow> cost_rows(const DeviceProfile& profile);

/// A device profile's costs as a table for people.
std::string format_costs(const DeviceProfile& profile);

}  // namespace syncopate
