#pragma once

#include <optional>
#include <string>

#include "base/units.hpp"

namespace syncopate {

/// What --max-time says; nullopt where it is not given. Throws UsageError.
std::optional<Seconds> read_max_time(const std::string& text);

}  // namespace syncopate
