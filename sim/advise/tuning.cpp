#include "advise/tuning.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/units.hpp"

namespace syncopate {

namespace {

constexpr int tried_values = 17;

bool is_noticeably_less(const Tuning::Worth& a, const Tuning::Worth& b) {
  return a.excess < b.excess || (a.excess == b.excess && a.value < b.value * (1.0 - rounding));
}

}  // namespace

Tuning::Tuning(std::vector<ValueRange> ranges) : ranges_(std::move(ranges)) {
  for (const ValueRange& range : ranges_) {
    const std::vector<std::int64_t> steps = range.samples(3);
    best_.push_back(steps[steps.size() / 2]);
  }
  if (ranges_.size() == 1) {
    ask(ranges_.front().samples(tried_values));
  } else {
    ask_grid();
  }
}

/// Asks for a grid with few values of each parameter.
void Tuning::ask_grid() {
  constexpr std::size_t most = 125;
  int each = 9;
  while (each > 2 && std::pow(each, ranges_.size()) > static_cast<double>(most)) --each;
  std::vector<Values> grid = {{}};
  for (const ValueRange& range : ranges_) {
    std::vector<Values> longer;
    for (const Values& values : grid) {
      for (const std::int64_t step : range.samples(each)) {
        longer.push_back(values);
        longer.back().push_back(step);
      }
    }
    grid = std::move(longer);
  }
  wanted_ = std::move(grid);
}

void Tuning::learn(const std::map<Values, Worth>& worths) {
  const bool is_grid = known_.empty() && ranges_.size() > 1;
  known_.insert(worths.begin(), worths.end());
  wanted_.clear();
  if (is_grid) {
    best_ = std::min_element(known_.begin(), known_.end(), [](const auto& a, const auto& b) { return a.second < b.second; })->first;
    if (!known_.at(best_).is_possible()) return;  // nothing is possible
    ask(ranges_.front().samples(tried_values));
    if (!wanted_.empty()) return;
  }
  if (!narrows_) {
    // The neighbours of the best known value along this parameter.
    std::vector<std::int64_t> along;
    for (const auto& [its, worth] : known_) {
      if (its == with(its[parameter_])) along.push_back(its[parameter_]);
    }
    const auto best = std::min_element(along.begin(), along.end(), [this](std::int64_t a, std::int64_t b) { return at(a) < at(b); });
    if (!at(*best).is_possible()) return;
    low_ = best == along.begin() ? *best : *std::prev(best);
    high_ = std::next(best) == along.end() ? *best : *std::next(best);
    if (!known_.contains(best_) || at(*best) < known_.at(best_)) best_ = with(*best);
    narrows_ = true;
  }
  while (wanted_.empty() && narrows_) narrow();
}

std::vector<Json> Tuning::as_json(const Values& values) const {
  std::vector<Json> all;
  for (std::size_t i = 0; i < values.size(); ++i) all.push_back(ranges_[i].value(values[i]));
  return all;
}

const Tuning::Worth& Tuning::at(std::int64_t step) const { return known_.at(with(step)); }

Tuning::Values Tuning::with(std::int64_t step) const {
  Values values = best_;
  values[parameter_] = step;
  return values;
}

void Tuning::ask(const std::vector<std::int64_t>& steps) {
  for (const std::int64_t step : steps) {
    const Values values = with(step);
    if (!known_.contains(values)) wanted_.push_back(values);
  }
}

void Tuning::next_parameter() {
  narrows_ = false;
  const Worth now = known_.at(best_);
  unimproved_ = is_noticeably_less(now, before_) ? 0 : unimproved_ + 1;
  before_ = now;
  const bool has_others = ranges_.size() > 1;
  if (!has_others || unimproved_ >= ranges_.size()) return;
  parameter_ = (parameter_ + 1) % ranges_.size();
  ask(ranges_[parameter_].samples(tried_values));
  if (wanted_.empty()) next_parameter();
}

/// One step of the golden-section search: probes the longer side of the best value, then keeps the bracket around the better of both.
void Tuning::narrow() {
  constexpr double section = 0.381966011250105;
  const std::int64_t best = best_[parameter_];
  if (high_ - best <= 1 && best - low_ <= 1) return next_parameter();
  const bool is_above = high_ - best >= best - low_;
  const std::int64_t side = is_above ? high_ - best : best - low_;
  const std::int64_t step = std::max<std::int64_t>(1, std::llround(section * static_cast<double>(side)));
  const std::int64_t probe = is_above ? best + step : best - step;
  if (!known_.contains(with(probe))) return ask({probe});
  if (at(probe) < known_.at(best_)) {
    (is_above ? low_ : high_) = best;
    best_ = with(probe);
  } else {
    (is_above ? high_ : low_) = probe;
  }
}

}  // namespace syncopate
