#include "advise/threshold.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>

#include "base/errors.hpp"

namespace syncopate {

namespace {

constexpr std::int64_t steps_per_decade = 9000;  // 1.000 to 9.999

struct ParsedQuantity {
  double number = 0.0;
  bool whole = false;
  std::string unit;
};

/// Reads digits, perhaps a point and further digits, perhaps a unit of letters.
std::optional<ParsedQuantity> parse(const std::string& text) {
  constexpr std::string_view digits = "0123456789";
  const std::size_t point = std::min(text.find_first_not_of(digits), text.size());
  const bool whole = text.substr(point, 1) != ".";
  const std::size_t unit = whole ? point : std::min(text.find_first_not_of(digits, point + 1), text.size());
  const auto is_count = [](std::size_t count) { return count >= 1 && count <= 15; };
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (!is_count(point) || !(whole || is_count(unit - point - 1)) || !std::ranges::all_of(text.substr(unit), is_letter)) return std::nullopt;
  return ParsedQuantity{std::stod(text.substr(0, unit)), whole, text.substr(unit)};
}

/// The step (of four significant digits) at a number, else the next one below or above it.
std::int64_t step_of(double number, bool above) {
  const double decade = std::floor(std::log10(number) * (1.0 + 1e-15));
  const double digits = number / std::pow(10.0, decade - 3.0);
  const double rounded = std::round(digits);
  const double on_step = std::abs(digits - rounded) < 1e-9 * digits ? rounded : above ? std::ceil(digits) : std::floor(digits);
  return static_cast<std::int64_t>(decade) * steps_per_decade + static_cast<std::int64_t>(on_step) - 1000;
}

}  // namespace

ValueRange::ValueRange(const std::string& from, const std::string& to) {
  const std::optional<ParsedQuantity> low = parse(from);
  const std::optional<ParsedQuantity> high = parse(to);
  for (const auto& [name, text, parsed] : {std::tuple("--from", from, low), std::tuple("--to", to, high)}) {
    if (!parsed || parsed->number == 0.0)
      throw UsageError(fmt::format("{} {}: expected a number above 0, perhaps with a unit, such as 64, 0.5 or 10Gbps", name, text));
  }
  if (low->unit != high->unit) throw UsageError(fmt::format("--to {}: expected the unit of --from {}", to, from));
  if (low->number >= high->number) throw UsageError(fmt::format("--to {}: expected more than --from {}", to, from));
  unit_ = low->unit;
  whole_ = low->whole && high->whole && unit_.empty();
  first_ = whole_ ? static_cast<std::int64_t>(low->number) : step_of(low->number, true);
  last_ = whole_ ? static_cast<std::int64_t>(high->number) : step_of(high->number, false);
  if (first_ >= last_) throw UsageError(fmt::format("--to {}: expected another value of four digits than --from {}", to, from));
}

Json ValueRange::value(std::int64_t step) const {
  if (whole_) return step;
  const std::int64_t decade = step >= 0 ? step / steps_per_decade : -((steps_per_decade - 1 - step) / steps_per_decade);
  const std::int64_t digits = step - decade * steps_per_decade + 1000;
  const double number = std::stod(fmt::format("{}e{}", digits, decade - 3));
  if (unit_.empty()) return number;
  std::string text = fmt::format("{:.{}f}", number, std::max<std::int64_t>(0, 3 - decade));
  if (text.find('.') != std::string::npos) text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + unit_;
}

std::vector<std::int64_t> ValueRange::samples(int count) const {
  std::set<std::int64_t> steps = {first_, last_};
  for (int i = 1; i + 1 < count; ++i) {
    const double share = static_cast<double>(i) / (count - 1);
    const auto low = static_cast<double>(first_);
    const auto high = static_cast<double>(last_);
    steps.insert(static_cast<std::int64_t>(std::round(whole_ ? low * std::pow(high / low, share) : low + share * (high - low))));
  }
  return {steps.begin(), steps.end()};
}

ThresholdSearch::ThresholdSearch(const ValueRange& range) {
  constexpr int count = 17;
  wanted_ = range.samples(count);
}

void ThresholdSearch::learn(std::map<std::int64_t, bool> holds) {
  known_.merge(holds);
  wanted_.clear();
  const std::vector<std::int64_t> found = changes();
  if (found.size() != 1) return;
  const std::int64_t next = std::next(known_.find(found.front()))->first;
  if (next - found.front() > 1) wanted_ = {found.front() + (next - found.front()) / 2};
}

std::vector<std::int64_t> ThresholdSearch::changes() const {
  std::vector<std::int64_t> found;
  for (auto one = known_.begin(); one != known_.end(); ++one) {
    const auto next = std::next(one);
    if (next != known_.end() && one->second != next->second) found.push_back(one->first);
  }
  return found;
}

ThresholdSearch::Result ThresholdSearch::result() const {
  const std::size_t count = changes().size();
  if (count > 1) return Result::several;
  if (count == 1) return known_.begin()->second ? Result::until : Result::from;
  return known_.begin()->second ? Result::everywhere : Result::nowhere;
}

std::int64_t ThresholdSearch::threshold() const {
  const std::int64_t last = changes().front();
  return known_.at(last) ? last : std::next(known_.find(last))->first;
}

}  // namespace syncopate
