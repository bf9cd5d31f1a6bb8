#include "advise/criteria.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/indexed.hpp"

namespace syncopate {

namespace {

using Objective = Advice::Objective;

bool is_over(double value, const std::optional<double>& limit, double slack) { return limit && value > slack * *limit; }

double share_over(double value, const std::optional<double>& limit) {
  if (!is_over(value, limit, 1.0)) return 0.0;
  return *limit > 0.0 ? value / *limit - 1.0 : value;
}

}  // namespace

std::optional<double> Criteria::samples_factor(std::size_t origin, bool is_sgd) const {
  if (is_sgd) return 1.0;
  const Advice::Entry& entry = advice_->schedules[origin];
  if (entry.samples_factor) return entry.samples_factor;
  const auto found = advice_->samples_factor.find(entry.schedule["name"].get<std::string>());
  return found == advice_->samples_factor.end() ? std::nullopt : std::optional(found->second);
}

double Criteria::hours(const Candidate& candidate, Seconds iteration) const {
  constexpr double hour = 3600.0;
  const double throughput = static_cast<double>(candidate.row.workers) * static_cast<double>(candidate.row.batch) / iteration.value;
  return advice_->samples * candidate.samples_factor.value_or(1.0) / throughput / hour;
}

std::optional<double> Criteria::cost(const Candidate& candidate, double hours) const {
  const std::optional<double>& price = advice_->places[candidate.place].price;
  return price ? std::optional(*price * candidate.paid_nodes * hours) : std::nullopt;
}

std::vector<double> Criteria::measures(const Candidate& candidate, double hours) const {
  switch (advice_->objective) {
    case Objective::time: return {hours};
    case Objective::cost: return {cost(candidate, hours).value_or(0.0)};
    case Objective::pareto: break;
  }
  return {hours, cost(candidate, hours).value_or(0.0)};
}

std::vector<double> Criteria::measures_at(const Candidate& candidate, int depth) const {
  return measures(candidate, hours(candidate, *candidate.iteration[at(depth)]));
}

double Criteria::mean_value(const Candidate& candidate) const {
  return candidate.risk ? measures(candidate, candidate.risk->mean_hours).front() : value(candidate);
}

bool Criteria::is_within_limits(const Candidate& candidate, double slack) const {
  const auto holds = [&](double hours, double staleness) {
    return !is_over(staleness, advice_->most_staleness, slack) && !is_over(hours, advice_->deadline_h, slack) &&
           !is_over(cost(candidate, hours).value_or(0.0), advice_->budget, slack);
  };
  return holds(candidate.hours, candidate.row.metrics.staleness_mean) &&
         (!candidate.risk || holds(candidate.risk->mean_hours, candidate.risk->mean_staleness));
}

double Criteria::excess(const Candidate& candidate) const {
  return share_over(candidate.row.metrics.staleness_mean, advice_->most_staleness) + share_over(candidate.hours, advice_->deadline_h) +
         share_over(candidate.cost.value_or(0.0), advice_->budget);
}

bool Criteria::beats(const Candidate& one, const Candidate& other, double margin, int depth) const {
  const std::size_t level = at(depth);
  if (!one.is_comparable() || !one.iteration[level] || !other.iteration[level] || !is_within_limits(one, 1.0 / (1.0 + margin)))
    return false;
  const std::vector<double> a = measures_at(one, depth);
  const std::vector<double> b = measures_at(other, depth);
  bool is_better = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] * (1.0 + margin) > b[i] * (1.0 + rounding)) return false;
    is_better = is_better || a[i] * (1.0 + margin) * (1.0 + rounding) < b[i];
  }
  return is_better;
}

bool Criteria::is_no_worse(const Candidate& one, const Candidate& other, int depth) const {
  const std::size_t level = at(depth);
  if (!one.iteration[level] || !other.iteration[level] || !is_within_limits(one)) return false;
  const auto figures = [&](const Candidate& its) {
    const double hours = this->hours(its, *its.iteration[level]);
    return std::array{hours, cost(its, hours).value_or(0.0), its.row.metrics.staleness_mean};
  };
  const auto is_no_more = [](const auto& a, const auto& b) {
    return std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) { return x <= y * (1.0 + rounding); });
  };
  const auto a = figures(one);
  const auto b = figures(other);
  return is_no_more(a, b) && (!is_no_more(b, a) || &one < &other);
}

bool Criteria::is_fresher_and_as_good(const Candidate& one, const Candidate& other, int depth) const {
  const std::size_t level = at(depth);
  if (one.is_comparable() || one.origin != other.origin || !one.iteration[level] || !other.iteration[level] || !is_within_limits(one))
    return false;
  const auto distance = [](const Candidate& its) { return std::pair(its.row.metrics.staleness_mean, its.cycle); };
  const auto [staleness, cycle] = distance(one);
  const auto [its_staleness, its_cycle] = distance(other);
  if (staleness > its_staleness || cycle > its_cycle) return false;
  const std::vector<double> a = measures_at(one, depth);
  const std::vector<double> b = measures_at(other, depth);
  const bool is_fresher = staleness < its_staleness || cycle < its_cycle;
  const double slack = is_fresher ? practically_none : rounding;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i] * (1.0 + slack)) return false;
  }
  return is_fresher || a < b || (a == b && &one < &other);
}

bool Criteria::is_noticeably_better(const Candidate& one, const Candidate& other) const {
  const std::vector<double> a = measures(one, one.hours);
  const std::vector<double> b = measures(other, other.hours);
  bool is_better = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i] * (1.0 + practically_none)) return false;
    is_better = is_better || a[i] * (1.0 + practically_none) < b[i];
  }
  return is_better;
}

}  // namespace syncopate
