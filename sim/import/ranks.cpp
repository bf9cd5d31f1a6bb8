#include "import/ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/errors.hpp"
#include "base/statistics.hpp"
#include "import/processes.hpp"

namespace syncopate {

namespace {

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return quantile(values, 0.5);
}

/// 3 of "job/worker3_step_12.pt.trace.json" and of "rank-3.json".
std::optional<std::int64_t> rank_in_name(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  for (const std::string_view word : {"rank", "worker"}) {
    const std::size_t found = name.find(word);
    if (found == std::string::npos) continue;
    const std::size_t digits = name.find_first_not_of("_-.=", found + word.size());
    if (digits == std::string::npos) continue;
    std::int64_t rank = 0;
    const auto [end, error] = std::from_chars(name.data() + digits, name.data() + name.size(), rank);
    if (error == std::errc() && rank >= 0) return rank;
  }
  return std::nullopt;
}

/// Throws if two ranks cannot be of one job.
void require_same_model(const RankProfile& first, const RankProfile& other) {
  const Trace& a = first.imported.trace;
  const Trace& b = other.imported.trace;
  const auto fail = [&](const std::string& difference) {
    throw InputError(fmt::format("{}: rank {} has {}; all ranks must run the same model", other.file, other.rank, difference));
  };
  for (std::size_t i = 0; i < std::max(a.layers.size(), b.layers.size()); ++i) {
    const std::string mine = i < b.layers.size() ? b.layers[i].name : "no more layers";
    const std::string its = i < a.layers.size() ? a.layers[i].name : "no more layers";
    if (mine != its) fail(fmt::format("{} where rank {} has {}", mine, first.rank, its));
  }
  if (a.gradients.size() != b.gradients.size()) {
    fail(fmt::format("{} gradients, and rank {} has {}", b.gradients.size(), first.rank, a.gradients.size()));
  }
}

constexpr Seconds resolution(1e-9);  // of a profiler

/// Of the values of all ranks at one place, the median; of two in the middle, the lower one, so that a rank has it.
template <class Value>
double median_over(std::size_t ranks, Value&& value) {
  std::vector<double> values;
  for (std::size_t rank = 0; rank < ranks; ++rank) values.push_back(value(rank));
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The median over steps from `first` on.
template <class Value>
double median_over_steps(std::size_t first, std::size_t steps, Value&& value) {
  std::vector<double> values;
  for (std::size_t step = first; step < steps; ++step) values.push_back(value(step));
  return median_of(std::move(values));
}

double ratio(double value, double to) { return to > 0 ? value / to : 1.0; }

/// The steps that are compared: by rank, as many and in the same order for each.
struct MatchedSteps {
  std::vector<std::vector<const ImportedStep*>> of_rank;
  std::vector<std::int64_t> numbers;  ///< of their marks; empty if matched by position
};

/// Ranks may have recorded more steps at the beginning: of all, the last ones are compared.
MatchedSteps match_by_position(const std::vector<RankProfile>& ranks) {
  std::size_t steps = ranks.front().imported.each_step.size();
  for (const RankProfile& rank : ranks) steps = std::min(steps, rank.imported.each_step.size());
  MatchedSteps matched;
  for (const RankProfile& rank : ranks) {
    std::vector<const ImportedStep*>& own = matched.of_rank.emplace_back();
    const std::vector<ImportedStep>& all = rank.imported.each_step;
    for (std::size_t i = all.size() - steps; i < all.size(); ++i) own.push_back(&all[i]);
  }
  return matched;
}

/// "ProfilerStep#3 to #8".
std::string numbers_of(const std::vector<ImportedStep>& steps) {
  std::vector<std::int64_t> marks;
  for (const ImportedStep& step : steps) {
    if (step.number) marks.push_back(step.number->mark);
  }
  const auto [first, last] = std::minmax_element(marks.begin(), marks.end());
  const std::string text = fmt::format("ProfilerStep#{}", *first);
  return *first == *last ? text : fmt::format("{} to #{}", text, *last);
}

/// Throws InputError that names a rank without a step of the ranks before it.
[[noreturn]] void fail_without_common_step(const std::vector<RankProfile>& ranks, const RankProfile& other) {
  throw InputError(fmt::format("{}: rank {} has {}, but rank {} has {}, and no step is in all ranks; record the same steps in every rank",
                               other.file, other.rank, numbers_of(other.imported.each_step), ranks.front().rank,
                               numbers_of(ranks.front().imported.each_step)));
}

/// The steps whose numbers all ranks have. A step that begins before the first mark has none.
MatchedSteps match_by_number(const std::vector<RankProfile>& ranks) {
  std::map<StepNumber, std::vector<const ImportedStep*>> common;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    for (const ImportedStep& step : ranks[i].imported.each_step) {
      if (!step.number) continue;
      if (i == 0) common[*step.number].push_back(&step);
      const auto found = common.find(*step.number);
      if (i > 0 && found != common.end()) found->second.push_back(&step);
    }
    std::erase_if(common, [i](const auto& step) { return step.second.size() <= i; });
    if (common.empty()) fail_without_common_step(ranks, ranks[i]);
  }
  MatchedSteps matched;
  matched.of_rank.resize(ranks.size());
  for (const auto& [number, steps] : common) {
    matched.numbers.push_back(number.mark);
    for (std::size_t i = 0; i < ranks.size(); ++i) matched.of_rank[i].push_back(steps[i]);
  }
  return matched;
}

MatchedSteps match_steps(const std::vector<RankProfile>& ranks) {
  const bool numbered = std::all_of(ranks.begin(), ranks.end(), [](const RankProfile& rank) {
    const std::vector<ImportedStep>& steps = rank.imported.each_step;
    return std::any_of(steps.begin(), steps.end(), [](const ImportedStep& step) { return step.number.has_value(); });
  });
  return numbered ? match_by_number(ranks) : match_by_position(ranks);
}

double device(const ImportedStep& step) {
  double sum = 0;
  for (const Seconds layer : step.layers) sum += layer.value;
  return sum;
}

/// Compares the ranks.
class Comparer {
 public:
  explicit Comparer(const std::vector<RankProfile>& ranks)
      : ranks_(ranks), matched_(match_steps(ranks)), steps_(matched_.of_rank.front().size()) {
    for (std::size_t step = 0; step < steps_; ++step) {
      usual_.push_back(median_over(ranks.size(), [&](std::size_t rank) { return compute(rank, step); }));
      usual_device_.push_back(median_over(ranks.size(), [&](std::size_t rank) { return device(step_of(rank, step)); }));
    }
  }

  RankComparison run() const {
    RankComparison comparison;
    comparison.steps = steps_;
    comparison.numbers = matched_.numbers;
    std::vector<std::size_t> by_compute;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      comparison.ranks.push_back(compare(rank));
      add_variation(rank, comparison.ranks.back().slow_since.value_or(0), comparison.variation);
      by_compute.push_back(rank);
    }
    std::sort(comparison.variation.begin(), comparison.variation.end());
    std::stable_sort(by_compute.begin(), by_compute.end(),
                     [&comparison](std::size_t a, std::size_t b) { return comparison.ranks[a].compute < comparison.ranks[b].compute; });
    comparison.median = by_compute[(by_compute.size() - 1) / 2];
    add_communication(comparison);
    return comparison;
  }

 private:
  const ImportedStep& step_of(std::size_t rank, std::size_t step) const { return *matched_.of_rank[rank][step]; }

  double compute(std::size_t rank, std::size_t step) const { return step_of(rank, step).compute().value; }

  RankComparison::Rank compare(std::size_t index) const {
    const auto pass = [&](std::size_t first, Seconds ImportedStep::*which) {
      return Seconds(median_over_steps(first, steps_, [&](std::size_t step) { return (step_of(index, step).*which).value; }));
    };
    RankComparison::Rank rank;
    rank.rank = ranks_[index].rank;
    rank.compute = Seconds(median_over_steps(0, steps_, [&](std::size_t step) { return compute(index, step); }));
    rank.factor = median_over_steps(0, steps_, [&](std::size_t step) { return ratio(compute(index, step), usual_[step]); });
    rank.device_factor =
        median_over_steps(0, steps_, [&](std::size_t step) { return ratio(device(step_of(index, step)), usual_device_[step]); });
    rank.slow_since = slow_since(index);
    const std::size_t first = rank.slow_since.value_or(0);
    rank.passes = {pass(first, &ImportedStep::forward), pass(first, &ImportedStep::backward), pass(first, &ImportedStep::update)};
    if (rank.slow_since) rank.layers = slow_layers(index, first);
    return rank;
  }

  /// The first slow step from which on four of five are slow, and two at least (where there are two).
  std::optional<std::size_t> slow_since(std::size_t rank) const {
    std::optional<std::size_t> since;
    std::size_t slow = 0;
    for (std::size_t step = steps_; step-- > 0;) {
      if (compute(rank, step) < RankComparison::slow * usual_[step]) continue;
      ++slow;
      constexpr std::size_t of_five = 4;
      if (5 * slow >= of_five * (steps_ - step) && slow >= std::min<std::size_t>(2, steps_)) since = step;
    }
    return since;
  }

  std::vector<RankComparison::Layer> slow_layers(std::size_t rank, std::size_t first) const {
    const auto of_layer = [&](std::size_t one, std::size_t layer) {
      return median_over_steps(first, steps_, [&](std::size_t step) { return step_of(one, step).layers[layer].value; });
    };
    constexpr double least = 1.01;
    const std::vector<Layer>& names = ranks_[rank].imported.trace.layers;
    std::vector<RankComparison::Layer> layers;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const double usual = median_over(ranks_.size(), [&](std::size_t one) { return of_layer(one, i); });
      const double mine = of_layer(rank, i);
      if (mine - usual > resolution.value && mine > least * usual)
        layers.push_back({names[i].name, Seconds(mine - usual), ratio(mine, usual)});
    }
    std::stable_sort(layers.begin(), layers.end(), [](const auto& a, const auto& b) { return a.more > b.more; });
    constexpr std::size_t most = 3;
    if (layers.size() > most) layers.resize(most);
    return layers;
  }

  /// Adds the compute of each step as a factor of its median before and after the rank became slow.
  void add_variation(std::size_t rank, std::size_t since, std::vector<double>& variation) const {
    for (const auto& [first, last] : {std::pair(std::size_t{0}, since), std::pair(since, steps_)}) {
      if (first == last) continue;
      const double median = median_over_steps(first, last, [&](std::size_t step) { return compute(rank, step); });
      for (std::size_t step = first; step < last; ++step) variation.push_back(ratio(compute(rank, step), median));
    }
  }

  /// Adds what collectives take of each step, and what ranks wait in them. The rank that comes last waits for nobody: the collective's own
  /// time is the shortest of the ranks'. So clocks of different machines do not matter.
  void add_communication(RankComparison& comparison) const {
    std::vector<double> own;
    std::vector<std::vector<double>> waited(ranks_.size());
    for (std::size_t step = 0; step < steps_; ++step) {
      const std::size_t count = step_of(0, step).collectives.size();
      const auto has_as_many = [&](const std::vector<const ImportedStep*>& steps) { return steps[step]->collectives.size() == count; };
      const bool agree = std::all_of(matched_.of_rank.begin(), matched_.of_rank.end(), has_as_many);
      if (!agree || count == 0) {
        comparison.steps_without_collectives += agree ? 0 : 1;
        continue;
      }
      double all = 0;
      std::vector<double> waits(ranks_.size());
      for (std::size_t i = 0; i < count; ++i) {
        const auto duration = [&](std::size_t rank) { return step_of(rank, step).collectives[i].value; };
        double shortest = duration(0);
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) shortest = std::min(shortest, duration(rank));
        all += shortest;
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) waits[rank] += duration(rank) - shortest;
      }
      comparison.collectives = std::max(comparison.collectives, count);
      own.push_back(all);
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank) waited[rank].push_back(waits[rank]);
    }
    if (own.empty()) return;
    comparison.communication = Seconds(median_of(own));
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const Seconds time(median_of(waited[rank]));
      comparison.ranks[rank].waited = time < resolution ? Seconds(0) : time;
    }
  }

  const std::vector<RankProfile>& ranks_;
  MatchedSteps matched_;
  std::size_t steps_;
  std::vector<double> usual_;         ///< by step: compute of the median rank
  std::vector<double> usual_device_;  ///< the same of the layers' kernels
};

}  // namespace

std::vector<std::filesystem::path> profile_files(const std::vector<std::string>& files_and_folders) {
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path path : files_and_folders) {
    std::error_code failed;
    if (!std::filesystem::is_directory(path, failed)) {
      const std::string name = path.string();
      for (const std::string_view ending : {".tar", ".tar.gz", ".tgz", ".zip"}) {
        if (name.ends_with(ending)) throw InputError(fmt::format("{}: an archive; unpack it, and give its files or their folder", name));
      }
      files.push_back(path);
      continue;
    }
    const std::size_t before = files.size();
    for (const auto& entry : std::filesystem::directory_iterator(path, failed)) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(".json") || name.ends_with(".json.gz")) files.push_back(entry.path());
    }
    if (failed) throw InputError(fmt::format("{}: cannot be read: {}", path.string(), failed.message()));
    if (files.size() == before)
      throw InputError(fmt::format("{}: no profile in this folder; expected .json or .json.gz files", path.string()));
    std::sort(files.begin() + static_cast<std::ptrdiff_t>(before), files.end());
  }
  return files;
}

std::vector<RankProfile> import_ranks(const std::vector<std::filesystem::path>& files, const ImportSettings& settings) {
  std::vector<RankProfile> ranks;
  for (const std::filesystem::path& file : files) {
    const KinetoTrace profile = read_kineto(file);
    const std::vector<TrainingProcess> processes = training_processes(profile);
    if (processes.size() < 2) {
      const auto known = processes.empty() || !processes.front().rank ? rank_in_name(file) : processes.front().rank;
      ranks.push_back(
          {known.value_or(static_cast<std::int64_t>(ranks.size())), file.string(), import_profile(profile, settings), profile.mended});
      continue;
    }
    for (const TrainingProcess& process : processes) {
      KinetoTrace own = profile;
      keep_process(own, {.rank = std::nullopt, .pid = process.pid});
      ranks.push_back(
          {process.rank.value_or(static_cast<std::int64_t>(ranks.size())), file.string(), import_profile(own, settings), profile.mended});
    }
  }
  std::stable_sort(ranks.begin(), ranks.end(), [](const RankProfile& a, const RankProfile& b) { return a.rank < b.rank; });
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    if (ranks[i].rank == ranks[i - 1].rank) {
      throw InputError(
          fmt::format("{}: rank {} is also in {}; give each rank's profile once", ranks[i].file, ranks[i].rank, ranks[i - 1].file));
    }
    require_same_model(ranks.front(), ranks[i]);
  }
  return ranks;
}

RankComparison compare_ranks(const std::vector<RankProfile>& ranks) { return Comparer(ranks).run(); }

Json workers_of(const RankComparison& comparison) {
  Json workers = Json::object();
  const RankComparison::Rank& usual = comparison.ranks[comparison.median];
  constexpr double least = 0.005;
  constexpr double alike = 0.02;
  constexpr double digits = 1e4;
  constexpr std::array<const char*, 3> passes = {"forward", "backward", "update"};
  const auto add = [&](const RankComparison::Rank& rank, double factor, const char* pass) {
    factor = std::round(digits * factor) / digits;
    if (std::abs(factor - 1) < least) return;
    Json entry = {{"ranks", std::to_string(rank.rank)}, {"factor", factor}};
    if (pass != nullptr) entry["pass"] = pass;
    workers["slow"].push_back(std::move(entry));
  };
  for (const RankComparison::Rank& rank : comparison.ranks) {
    std::array<double, 3> factors{};
    for (std::size_t i = 0; i < passes.size(); ++i) factors[i] = ratio(rank.passes[i].value, usual.passes[i].value);
    const auto [lowest, highest] = std::minmax_element(factors.begin(), factors.end());
    if (*highest - *lowest <= alike) {
      const auto sum = [](const std::array<Seconds, 3>& times) { return times[0] + times[1] + times[2]; };
      add(rank, ratio(sum(rank.passes).value, sum(usual.passes).value), nullptr);
    } else {
      for (std::size_t i = 0; i < passes.size(); ++i) add(rank, factors[i], passes[i]);
    }
  }
  if (comparison.steps > 1) {
    Json& jitter = workers["jitter"] = {{"distribution", "empirical"}, {"factors", Json::array()}};
    constexpr std::size_t most = 200;
    const std::size_t count = std::min(most, comparison.variation.size());
    for (std::size_t i = 0; i < count; ++i) {
      const double at = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
      const auto index = static_cast<std::size_t>(at * static_cast<double>(comparison.variation.size()));
      jitter["factors"].push_back(std::round(digits * comparison.variation[index]) / digits);
    }
  }
  return workers;
}

}  // namespace syncopate
