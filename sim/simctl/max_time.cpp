#include "simctl/max_time.hpp"

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/text.hpp"

namespace syncopate {

std::optional<Seconds> read_max_time(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const std::optional<Seconds> time = parse_duration(text);
  if (!time) throw UsageError(fmt::format("--max-time {}: expected seconds above 0, or a time such as 90s, 5min or 2h", text));
  return time;
}

}  // namespace syncopate
