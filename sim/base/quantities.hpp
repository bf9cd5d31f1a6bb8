#pragma once

#include <optional>
#include <string_view>

#include "base/json.hpp"

namespace syncopate {

/// A quantity with a unit, in base units. Nullopt for any other text.
std::optional<double> parse_time(std::string_view text);       ///< "50us", in seconds
std::optional<double> parse_bandwidth(std::string_view text);  ///< "10Gbps" (bits) or "12GBps" (bytes), in bytes per second
std::optional<double> parse_size(std::string_view text);       ///< "25MB" or "1MiB", in bytes

/// A JSON number, or a text that one of the functions above parses. Nullopt for any other value.
std::optional<double> as_number(const Json& value);

}  // namespace syncopate
