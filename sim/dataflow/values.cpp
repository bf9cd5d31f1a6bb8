#include "dataflow/values.hpp"

#include <algorithm>

namespace syncopate {

Values Values::parts(std::size_t first, std::size_t count) const {
  const auto begin = values_.begin() + static_cast<std::ptrdiff_t>(first - first_);
  return {first, ValueIds(begin, begin + static_cast<std::ptrdiff_t>(count))};
}

void Values::replace(const Values& other) {
  std::copy(other.values_.begin(), other.values_.end(), values_.begin() + static_cast<std::ptrdiff_t>(other.first_ - first_));
}

void Values::append(const Values& other) {
  if (empty()) first_ = other.first_;
  values_.insert(values_.end(), other.values_.begin(), other.values_.end());
}

Sum Sum::part(std::size_t part) const {
  Sum result;
  result.terms_.reserve(terms_.size());
  for (const Term& term : terms_) result.terms_.push_back({term.factor, term.values.part(part)});
  return result;
}

Sum& Sum::operator+=(const Sum& other) {
  terms_.insert(terms_.end(), other.terms_.begin(), other.terms_.end());
  return *this;
}

Sum& Sum::operator*=(const Coefficient& factor) {
  for (Term& term : terms_) term.factor = factor * term.factor;
  return *this;
}

Sum mean(const std::vector<Values>& all) {
  Sum sum;
  const double share = 1.0 / static_cast<double>(all.size());
  for (const Values& values : all) sum.add(share, values);
  return sum;
}

}  // namespace syncopate
