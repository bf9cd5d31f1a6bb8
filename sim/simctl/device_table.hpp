#pragma once

#include <string>

#include "device/device_profile.hpp"

namespace syncopate {

/// A device profile's costs as a table for people.
std::string format_costs(const DeviceProfile& profile);

}  // namespace syncopate
