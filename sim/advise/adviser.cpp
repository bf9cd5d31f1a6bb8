#include "advise/adviser.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include "advise/tuning.hpp"
#include "base/errors.hpp"
#include "base/indexed.hpp"
#include "base/progress.hpp"
#include "explain/what_if.hpp"

namespace syncopate {

namespace {

using Objective = Advice::Objective;

constexpr std::array<double, Candidate::depths> usual_margins = {0.0, 0.1, 0.03};

/// Two candidates of one schedule with equal fingerprints behave the same.
auto fingerprint(const Candidate& candidate, int depth) {
  const Metrics& metrics = candidate.row.metrics;
  return std::tuple(candidate.place, candidate.nodes, candidate.paid_nodes, candidate.origin, candidate.iteration[at(depth)],
                    metrics.communications_per_iteration, metrics.bytes_per_worker_per_iteration.value, metrics.staleness_mean,
                    candidate.cycle);
}
using Fingerprints = std::set<decltype(fingerprint(Candidate(), 0))>;

}  // namespace

Adviser::Adviser(Advice advice, RunOptions options)
    : advice_(std::move(advice)), criteria_(advice_), runs_(advice_, criteria_, std::move(options)), margins_(usual_margins) {
  if (advice_.risk) worlds_.emplace(advice_, criteria_, runs_);
}

void Adviser::search() {
  simulate_all();
  if (std::all_of(candidates_.begin(), candidates_.end(), [](const Candidate& its) { return its.depth < 0; })) {
    throw InputError(fmt::format("{}: nothing of it can be simulated: {}", advice_.scenario.file(),
                                 left_out().empty() ? std::string("no schedule is left") : left_out().front()));
  }
  // A candidate that fails or exceeds the limits in a deeper fidelity makes room for others.
  bool has_more = true;
  while (has_more) {
    has_more = deepen(1);
    has_more = deepen(2) || has_more;
    if (!has_more && worlds_) has_more = judge_risk();
  }
  choose();
}

// All candidates, in alpha-beta

void Adviser::simulate_all() {
  std::vector<Origin> tuned;
  for (std::size_t place = 0; place < advice_.places.size(); ++place) {
    for (const int nodes : advice_.places[place].nodes) {
      for (std::size_t origin = 0; origin < advice_.schedules.size(); ++origin) {
        const Json& schedule = advice_.schedules[origin].schedule;
        const bool has_ranges = std::any_of(advice_.tuned.begin(), advice_.tuned.end(), [&](const Advice::Tuned& tunable) {
          return tunable.schedule == schedule["name"].get<std::string>() && !schedule.contains(tunable.parameter);
        });
        if (has_ranges) {
          tuned.push_back({place, nodes, origin});
        } else {
          candidates_.push_back({.place = place, .nodes = nodes, .schedule = schedule, .origin = origin});
        }
      }
    }
  }
  std::vector<std::size_t> all(candidates_.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  simulate(all, 0);
  tune(tuned);
}

void Adviser::tune(const std::vector<Origin>& origins) {
  struct Search {
    Origin origin;
    std::vector<std::string> parameters;
    std::vector<Tuning> tunings;                         // one per measure of the objective
    std::map<Tuning::Values, std::size_t> candidates{};  // index of the candidate with these values
  };
  const std::size_t measures = advice_.objective == Objective::pareto ? 2 : 1;
  std::vector<Search> searches;
  for (const Origin& origin : origins) {
    std::vector<std::string> parameters;
    std::vector<ValueRange> ranges;
    const Json& schedule = advice_.schedules[origin.schedule].schedule;
    for (const Advice::Tuned& tunable : advice_.tuned) {
      if (tunable.schedule != schedule["name"].get<std::string>() || schedule.contains(tunable.parameter)) continue;
      parameters.push_back(tunable.parameter);
      ranges.push_back(tunable.range);
    }
    searches.push_back({origin, parameters, std::vector<Tuning>(measures, Tuning(ranges))});
  }
  const auto worth = [this](const Candidate& its, std::size_t measure) {
    return its.depth < 0 ? Tuning::Worth() : Tuning::Worth{criteria_.excess(its), criteria_.measures(its, its.hours)[measure]};
  };
  for (bool is_over = false; !is_over;) {
    is_over = true;
    std::vector<std::size_t> indices;
    for (std::size_t s = 0; s < searches.size(); ++s) {
      auto& [origin, parameters, tunings, candidates] = searches[s];
      for (const Tuning& tuning : tunings) {
        for (const Tuning::Values& values : tuning.wanted()) {
          is_over = false;
          if (!candidates.try_emplace(values, candidates_.size()).second) continue;
          indices.push_back(candidates_.size());
          Json schedule = advice_.schedules[origin.schedule].schedule;
          const std::vector<Json> json = tuning.as_json(values);
          for (std::size_t p = 0; p < json.size(); ++p) schedule[parameters[p]] = json[p];
          candidates_.push_back(
              {.place = origin.place, .nodes = origin.nodes, .schedule = std::move(schedule), .origin = origin.schedule, .search = s});
        }
      }
    }
    simulate(indices, 0);
    for (Search& search : searches) {
      for (std::size_t measure = 0; measure < measures; ++measure) {
        Tuning& tuning = search.tunings[measure];
        std::map<Tuning::Values, Tuning::Worth> worths;
        for (const Tuning::Values& values : tuning.wanted()) worths[values] = worth(candidates_[search.candidates.at(values)], measure);
        if (!worths.empty()) tuning.learn(worths);
      }
    }
  }
}

// Deeper fidelities for candidates that may be best

/// Whether, at that depth, other values of the same parameters are no worse in any measure and can be simulated deeper.
bool Adviser::is_probe(const Candidate& candidate, int depth) const {
  if (!candidate.search || !candidate.is_comparable()) return false;
  return std::any_of(candidates_.begin(), candidates_.end(), [&](const Candidate& rival) {
    return rival.search == candidate.search && &rival != &candidate && rival.refusal.empty() &&
           criteria_.is_no_worse(rival, candidate, depth);
  });
}

bool Adviser::is_beaten(const Candidate& candidate, double margin, int depth) const {
  return std::any_of(candidates_.begin(), candidates_.end(), [&](const Candidate& rival) {
    return &rival != &candidate && rival.refusal.empty() && criteria_.beats(rival, candidate, margin, depth);
  });
}

std::vector<std::size_t> Adviser::worth_deepening(int depth, double margin) const {
  const bool agrees = margin <= usual_margins[at(depth)];
  std::vector<std::size_t> found;
  Fingerprints seen;
  for (const Candidate& its : candidates_) {
    if (its.depth >= depth || !its.refusal.empty()) seen.insert(fingerprint(its, depth - 1));
  }
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const Candidate& its = candidates_[i];
    if (its.depth != depth - 1 || !its.refusal.empty() || !criteria_.is_within_limits(its, 1.0 + margin)) continue;
    if ((agrees && is_probe(its, depth - 1)) || is_beaten(its, margin, depth - 1)) continue;
    if (seen.insert(fingerprint(its, depth - 1)).second) found.push_back(i);
  }
  return found;
}

/// The spread of the ratio (time at `depth`) / (time at `depth` - 1) over the candidates: largest / smallest - 1. Unknown ratios count
/// as 1.
double Adviser::disagreement(int depth) const {
  double least = 1.0;
  double most = 1.0;
  for (const Candidate& its : candidates_) {
    const auto& deep = its.iteration[at(depth)];
    const auto& shallow = its.iteration[at(depth - 1)];
    if (!deep || !shallow) continue;
    least = std::min(least, *deep / *shallow);
    most = std::max(most, *deep / *shallow);
  }
  return most / least - 1.0;
}

/// Simulates candidates at that depth until no further one may be best. Returns whether it simulated any.
bool Adviser::deepen(int depth) {
  double& margin = margins_[at(depth)];
  for (bool has_deepened = false;; has_deepened = true) {
    const std::vector<std::size_t> next = worth_deepening(depth, margin);
    if (next.empty()) return has_deepened;
    simulate(next, depth);
    margin = std::max(margin, disagreement(depth));
  }
}

/// Judges those of the best candidates that have no risk yet. Returns whether there were any.
bool Adviser::judge_risk() {
  std::vector<std::size_t> next;
  for (const std::size_t index : ranked(true)) {
    const Candidate& its = candidates_[index];
    if (!its.risk && !is_beaten(its, usual_margins.back(), Candidate::depths - 1)) next.push_back(index);
  }
  worlds_->judge(candidates_, next);
  return !next.empty();
}

// The choice

void Adviser::choose() {
  if (advice_.objective == Objective::pareto) return;
  for (std::vector<std::size_t> best = ranking(); !best.empty(); best = ranking()) {
    choice_ = best.front();
    const auto next_best =
        std::find_if(best.begin(), best.end(), [this](std::size_t index) { return !is_same_but_parameters(index, *choice_); });
    runner_up_ = next_best == best.end() ? std::nullopt : std::optional(*next_best);
    if (const auto next = promising_runner_up()) {
      simulate({*next}, Candidate::depths - 1);
      if (worlds_) judge_risk();
    } else if (worlds_ && runner_up_ && !candidates_[*runner_up_].risk) {
      worlds_->judge(candidates_, {*runner_up_});
    } else {
      break;
    }
  }
  if (!choice_) return;
  std::vector<std::size_t> best = {*choice_};
  if (runner_up_) best.push_back(*runner_up_);
  runs_.find_ranges(candidates_, best);
  try {
    decides_ = ask_what_decides(candidates_[*choice_]);
  } catch (const SimulationError& error) {
    why_undecided_ = error.what();
  }
}

/// A candidate that may be better than the runner-up and has not been simulated in the deepest fidelity.
std::optional<std::size_t> Adviser::promising_runner_up() const {
  std::optional<std::size_t> next = runner_up_;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const Candidate& its = candidates_[i];
    const bool is_known = its.depth < 0 || its.is_deepest() || !its.refusal.empty();
    if (is_known || !its.is_comparable() || !criteria_.is_within_limits(its) || is_same_but_parameters(i, *choice_)) continue;
    if (!next || criteria_.value(its) < criteria_.value(candidates_[*next])) next = i;
  }
  return next == runner_up_ ? std::nullopt : next;
}

std::vector<WhatIf> Adviser::ask_what_decides(const Candidate& candidate) {
  const Point point = as_one_run(runs_.point(candidate));
  const RunOptions& options = runs_.options();
  constexpr double by = 0.1;
  constexpr std::size_t most = 2;
  constexpr double noticeable = 1e-4;
  const Explained explained = explain({&point}, options.jobs, options.interrupted).front();
  std::vector<WhatIf> deciding;
  std::optional<ProgressBar> progress;
  const auto advance = [&](std::size_t /*done*/, std::size_t all) {
    if (!progress) progress.emplace(all, "simulations of what holds the choice back", options.shows_progress);
    progress->advance();
  };
  for (WhatIf& what : ask_what_if(explained, {by}, options.jobs, advance, options.interrupted)) {
    const bool counts = !what.factor.is_unreal() && what.saved(explained.iteration()) > noticeable;
    if (counts && deciding.size() < most) deciding.push_back(std::move(what));
  }
  return deciding;
}

bool Adviser::is_same_but_parameters(std::size_t first, std::size_t second) const {
  const Candidate& a = candidates_[first];
  const Candidate& b = candidates_[second];
  return a.place == b.place && a.nodes == b.nodes && a.schedule["name"] == b.schedule["name"];
}

/// Candidates within the limits that were simulated in the deepest fidelity, best first.
std::vector<std::size_t> Adviser::ranked(bool comparable) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const Candidate& its = candidates_[i];
    const bool is_known = its.is_deepest() && its.refusal.empty();
    if (is_known && its.is_comparable() == comparable && criteria_.is_within_limits(its)) found.push_back(i);
  }
  const auto rank = [this](std::size_t index) { return std::pair(criteria_.value(candidates_[index]), candidates_[index].hours); };
  std::stable_sort(found.begin(), found.end(), [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  return found;
}

std::vector<std::size_t> Adviser::ranking() const {
  std::vector<std::size_t> found = ranked(true);
  const auto judged =
      std::stable_partition(found.begin(), found.end(), [this](std::size_t one) { return candidates_[one].risk.has_value(); });
  const auto regret = [this](std::size_t one) { return *candidates_[one].risk->worst_regret; };
  for (auto next = found.begin(); next != judged; ++next) {
    // Among candidates with practically the least worst regret, take the best mean.
    const double least = regret(*std::min_element(next, judged, [&](std::size_t a, std::size_t b) { return regret(a) < regret(b); }));
    const auto rank = [&](std::size_t one) {
      return std::pair(regret(one) > least + practically_none, criteria_.mean_value(candidates_[one]));
    };
    const auto best = std::min_element(next, judged, [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
    std::rotate(next, best, std::next(best));
  }
  return found;
}

std::vector<std::size_t> Adviser::front() const {
  const std::vector<std::size_t> comparable = ranked(true);
  std::vector<std::size_t> found;
  Fingerprints seen;
  for (const std::size_t index : comparable) {
    const Candidate& its = candidates_[index];
    const bool is_behind = std::any_of(comparable.begin(), comparable.end(),
                                       [&](std::size_t rival) { return criteria_.is_noticeably_better(candidates_[rival], its); });
    if (!is_behind && seen.insert(fingerprint(its, Candidate::depths - 1)).second) found.push_back(index);
  }
  return found;
}

std::vector<std::size_t> Adviser::staler() const {
  std::vector<std::size_t> found = ranked(false);
  constexpr int deepest = Candidate::depths - 1;
  std::erase_if(found, [this](std::size_t index) {
    const Candidate& its = candidates_[index];
    const auto spares = [&](const Candidate& rival) {
      return &rival != &its && rival.refusal.empty() && criteria_.is_fresher_and_as_good(rival, its, deepest);
    };
    return break_even(index) <= 1.0 + practically_none || is_beaten(its, 0.0, deepest) ||
           std::any_of(candidates_.begin(), candidates_.end(), spares);
  });
  return found;
}

double Adviser::break_even(std::size_t staler) const {
  const Candidate& its = candidates_[staler];
  const std::vector<double> own = criteria_.measures(its, its.hours);
  double least = std::numeric_limits<double>::infinity();
  for (const std::size_t index : ranked(true)) {
    const std::vector<double> rival = criteria_.measures(candidates_[index], candidates_[index].hours);
    double factor = 0.0;
    for (std::size_t i = 0; i < own.size(); ++i) factor = std::max(factor, own[i] > 0.0 ? rival[i] / own[i] : 1.0);
    least = std::min(least, factor);
  }
  return least;
}

std::vector<std::string> Adviser::notes() const {
  std::vector<std::string> notes = runs_.notes();
  for (std::size_t depth = 1; depth < margins_.size(); ++depth) {
    if (margins_[depth] <= usual_margins[depth]) continue;
    notes.push_back(fmt::format(
        "{} and {} disagree by up to {:.1f}%: candidates within that of the best were simulated deeper, not only within {:.0f}%",
        fidelity_of_depth[depth - 1], fidelity_of_depth[depth], 100.0 * margins_[depth], 100.0 * usual_margins[depth]));
  }
  for (const auto& index : {choice_, runner_up_}) {
    if (!index || !candidates_[*index].row.details.contains("fidelity_note")) continue;
    notes.push_back(
        fmt::format("{}: {}", title(candidates_[*index], advice_), candidates_[*index].row.details["fidelity_note"].get<std::string>()));
  }
  if (!why_undecided_.empty()) notes.push_back(fmt::format("what holds the choice back is not known: {}", why_undecided_));
  for (const auto& [schedule, factor] : advice_.samples_factor) {
    const auto needs_it = [&name = schedule](const Candidate& its) {
      return its.schedule["name"] == name && its.depth >= 0 && !its.is_sgd;
    };
    if (std::any_of(candidates_.begin(), candidates_.end(), needs_it)) continue;
    notes.push_back(
        fmt::format("the samples_factor of {} is not used: nothing of it trains otherwise than synchronous SGD does", schedule));
  }
  if (!advice_.needs_values.empty())
    notes.push_back(fmt::format("not considered, as they need values in \"tune\": {}", fmt::join(advice_.needs_values, ", ")));
  return notes;
}

Json Adviser::scenario(const Candidate& candidate, const std::filesystem::path& folder) const {
  Json json = advice_.scenario.root();
  const auto whole = [](const std::filesystem::path& path) { return std::filesystem::absolute(path / "").lexically_normal(); };
  const std::filesystem::path start = whole(folder);
  const bool is_linked = std::filesystem::weakly_canonical(start) / "" != start;
  const auto from_there = [&](const Json& value, FileKind kind) -> Json {
    if (!value.is_string()) return value;
    const std::filesystem::path file =
        std::filesystem::absolute(named_file(value.get<std::string>(), {kind}, advice_.folder)).lexically_normal();
    return (is_linked ? file : file.lexically_proximate(start)).string();
  };
  json["trace"] = from_there(json["trace"], FileKind::trace);
  json["cluster"] = from_there(advice_.places[candidate.place].cluster, FileKind::cluster);
  json["schedule"] = candidate.schedule;
  json["samples"] = static_cast<std::int64_t>(std::llround(std::ceil(advice_.samples * candidate.samples_factor.value_or(1.0))));
  json["epochs"] = 1;
  json["sweep"] = {{"/cluster/nodes", Json::array({candidate.nodes})}};
  if (const Json& hosts = advice_.places[candidate.place].hosts; !hosts.is_null()) json["sweep"]["/cluster/hosts"] = Json::array({hosts});
  return json;
}

}  // namespace syncopate
