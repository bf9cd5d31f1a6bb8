#include "advise/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/indexed.hpp"

namespace syncopate {

namespace {

Json as_number(double amount) { return amount; }

/// To four digits, as it is written down.
double rounded_amount(double amount) { return std::stod(fmt::format("{:.4g}", amount)); }

/// An efficiency that takes so much longer than all of the nominal bandwidth.
Json as_efficiency(double amount) { return rounded_amount(1.0 / (1.0 + amount)); }

Json as_jitter(double amount) { return {{"distribution", "lognormal"}, {"cv", amount}}; }

/// A cause while it is being fitted: its amount lies between two.
struct Search {
  SlowdownCause cause;
  double low = 0.0;
  double high = 0.0;

  double middle() const { return 0.5 * (low + high); }
};

/// Mean of log(simulated / measured).
double excess(const MeasuredRuns& runs, const std::map<int, Seconds>& simulated) {
  double sum = 0.0;
  for (const auto& [gpus, measured] : runs) sum += std::log(simulated.at(gpus) / measured);
  return sum / static_cast<double>(runs.size());
}

double root_mean_square(const MeasuredRuns& runs, const std::map<int, Seconds>& simulated) {
  double sum = 0.0;
  for (const auto& [gpus, measured] : runs) sum += std::pow(simulated.at(gpus) / measured - 1.0, 2);
  return std::sqrt(sum / static_cast<double>(runs.size()));
}

/// Simulates each cause at an amount of its own, on all of these numbers of GPUs.
std::vector<std::map<int, Seconds>> simulate_all(const std::vector<std::pair<const SlowdownCause*, double>>& amounts,
                                                 const std::vector<int>& sizes, const std::vector<Setting>& settings,
                                                 const Simulated& simulate) {
  std::vector<Question> questions;
  for (const auto& [cause, amount] : amounts) {
    for (const int gpus : sizes) {
      questions.push_back({gpus, with_cause(settings, *cause, amount)});
    }
  }
  const std::vector<Seconds> answers = simulate(questions);
  std::vector<std::map<int, Seconds>> found(amounts.size());
  for (std::size_t i = 0; i < questions.size(); ++i) found[i / sizes.size()][questions[i].gpus] = answers[i];
  return found;
}

}  // namespace

std::vector<SlowdownCause> causes_of(const Scenario& scenario, const MeasuredRuns& runs) {
  const Cluster& cluster = scenario.cluster;
  const int most_gpus = runs.rbegin()->first;
  const bool has_network = most_gpus > cluster.gpus_per_node && !cluster.is_fitted() && !cluster.platform && !cluster.regions;
  constexpr double percent = 0.01;
  constexpr double milliseconds = 1e-3;
  std::vector<SlowdownCause> causes = {{"steps that are not equally long", "/workers/jitter", 20 * percent, as_jitter},
                                       {"compute that is slower beside communication", "/workers/overlap_slowdown", 1.0, as_number}};
  if (scenario.schedule.traffic.servers)
    causes.push_back({"servers' time per message", "/cluster/host/per_message_s", 10 * milliseconds, as_number});
  if (scenario.schedule.traffic.has_collectives()) {
    causes.push_back({"hosts' time per collective", "/cluster/host/per_collective_s", 10 * milliseconds, as_number});
    causes.push_back({"hosts' time per tensor", "/cluster/host/per_tensor_s", 10 * milliseconds, as_number});
    if (runs.size() > 1) causes.push_back({"hosts' time per rank", "/cluster/host/per_rank_s", milliseconds, as_number});
  }
  if (has_network) causes.push_back({"the share that the network delivers", "/cluster/link/efficiency", 20.0, as_efficiency});
  if (!has_network && cluster.gpus_per_node > 1) {
    causes.push_back({"the share that links inside nodes deliver", "/cluster/intra_node/efficiency", 20.0, as_efficiency});
  }
  return causes;
}

std::vector<Setting> with_cause(const std::vector<Setting>& settings, const SlowdownCause& cause, double amount) {
  std::vector<Setting> all;
  for (const Setting& setting : settings) {
    if (!is_at_or_above(cause.pointer, setting.pointer)) all.push_back(setting);
  }
  all.push_back({cause.pointer, cause.value(amount), "calibrate"});
  return all;
}

std::vector<Fitted> fit_causes(const std::vector<SlowdownCause>& causes, const MeasuredRuns& runs, const std::vector<int>& others,
                               const std::vector<Setting>& settings, const Simulated& simulate) {
  std::vector<int> sizes;
  for (const auto& [gpus, measured] : runs) sizes.push_back(gpus);
  std::vector<std::pair<const SlowdownCause*, double>> ends;
  for (const SlowdownCause& cause : causes) {
    ends.emplace_back(&cause, 0.0);
    ends.emplace_back(&cause, cause.most);
  }
  const auto at_ends = simulate_all(ends, sizes, settings, simulate);
  std::vector<Search> searches;
  for (std::size_t i = 0; i < causes.size(); ++i) {
    const double without = excess(runs, at_ends[2 * i]);
    if (without > noise_of_runs || excess(runs, at_ends[2 * i + 1]) < 0.0) continue;
    searches.push_back({causes[i], 0.0, without > 0.0 ? 0.0 : causes[i].most});  // nothing is lost: as little of it as can be
  }
  const auto simulate_middles = [&] {
    std::vector<std::pair<const SlowdownCause*, double>> amounts;
    for (const Search& search : searches) amounts.emplace_back(&search.cause, search.middle());
    return simulate_all(amounts, sizes, settings, simulate);
  };
  constexpr int halvings = 24;
  for (int i = 0; i < halvings && !searches.empty(); ++i) {
    const auto found = simulate_middles();
    for (std::size_t j = 0; j < searches.size(); ++j)
      (excess(runs, found[j]) < 0.0 ? searches[j].low : searches[j].high) = searches[j].middle();
  }
  for (Search& search : searches) search.low = search.high = rounded_amount(search.middle());
  for (const int gpus : others) {
    if (!runs.contains(gpus)) sizes.push_back(gpus);
  }
  const auto found = simulate_middles();
  std::vector<Fitted> fits;
  for (std::size_t i = 0; i < searches.size(); ++i)
    fits.push_back({searches[i].cause, searches[i].middle(), root_mean_square(runs, found[i]), found[i]});
  if (std::any_of(fits.begin(), fits.end(), [](const Fitted& fit) { return fit.amount > 0.0; }))
    std::erase_if(fits, [](const Fitted& fit) { return fit.amount == 0.0; });
  std::stable_sort(fits.begin(), fits.end(), [](const Fitted& a, const Fitted& b) { return a.off < b.off; });
  return fits;
}

std::size_t count_alike(const std::vector<Fitted>& fits) {
  constexpr double noise = 0.01;  // errors that are nearer to each other tell nothing
  const auto other = std::find_if(fits.begin(), fits.end(), [&](const Fitted& fit) { return fit.off > fits.front().off + noise; });
  return static_cast<std::size_t>(other - fits.begin());
}

const Fitted& middle(const std::vector<Fitted>& fits, std::size_t alike, int gpus) {
  std::vector<const Fitted*> sorted;
  for (std::size_t i = 0; i < alike; ++i) sorted.push_back(&fits[i]);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const Fitted* a, const Fitted* b) { return a->iterations.at(gpus) < b->iterations.at(gpus); });
  return *sorted[(alike - 1) / 2];
}

}  // namespace syncopate
