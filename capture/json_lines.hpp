#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "base/json.hpp"

namespace syncopate::capture {

/// `value` rounded to `digits` significant digits.
inline double rounded(double value, int digits) { return std::stod(fmt::format("{:.{}g}", value, digits)); }

/// A JSON array with one element per line.
template <class Elements, class ToJson>
std::string lines(const Elements& elements, ToJson to_json) {
  std::vector<std::string> texts;
  texts.reserve(elements.size());
  for (const auto& element : elements) texts.push_back(to_json(element).dump());
  return texts.empty() ? "[]" : fmt::format("[\n{}\n]", fmt::join(texts, ",\n"));
}

}  // namespace syncopate::capture
