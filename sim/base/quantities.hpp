#pragma once

#include <optional>
#include <string_view>

#include "base/json.hpp"

namespace syncopate {

/// What a scenario writes with a unit, in the unit's base. Nullopt when the text is anything else.
std::optional<double> parse_time(std::string_view text);       ///< "50us", in seconds
std::optional<double> parse_bandwidth(std::string_view text);  ///< "10Gbps" (bits) or "12GBps" (bytes), in bytes per second
std::optional<double> parse_size(std::string_view text);       ///< "25MB" or "1MiB", in bytes

/// A number, or what such a text says. Nullopt when the value is anything else.
std::optional<double> as_number(const Json& value);

}  // namespace syncopate
