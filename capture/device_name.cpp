#include "capture/device_name.hpp"

#include <fmt/format.h>

#include <charconv>

#include "base/errors.hpp"
#include "base/text.hpp"

namespace syncopate::capture {

DeviceName parse_device(std::string_view text) {
  if (text.empty()) throw UsageError("--device is missing; use cuda or cpu");
  const std::size_t colon = text.find(':');
  const bool numbered = colon != std::string_view::npos;
  DeviceName name = {std::string(text.substr(0, colon))};
  if (name.kind != "cuda" && name.kind != "cpu")
    throw UsageError(fmt::format("--device {}: expected cuda, cuda:N or cpu{}", text, did_you_mean(name.kind, {"cuda", "cpu"})));
  if (!numbered) return name;
  if (name.kind == "cpu") throw UsageError(fmt::format("--device {}: the CPU has no number; use --device cpu", text));
  const char* end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data() + colon + 1, end, name.index);
  if (error != std::errc() || parsed != end || name.index < 0)
    throw UsageError(fmt::format("--device {}: expected cuda:N, where N counts GPUs from 0", text));
  return name;
}

}  // namespace syncopate::capture
