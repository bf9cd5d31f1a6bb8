#include "import/ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
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
double median_over(const std::vector<RankProfile>& ranks, Value&& value) {
  std::vector<double> values;
  for (const RankProfile& rank : ranks) values.push_back(value(rank.imported));
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

/// Ranks may have recorded more steps at the beginning: of all, the last `steps` are compared.
const ImportedStep& step_of(const Imported& rank, std::size_t step, std::size_t steps) {
  return rank.each_step[rank.each_step.size() - steps + step];
}

double device(const ImportedStep& step) {
  double sum = 0;
  for (const Seconds layer : step.layers) sum += layer.value;
  return sum;
}

/// Compares the ranks.
class Comparer {
 public:
  explicit Comparer(const std::vector<RankProfile>& ranks) : ranks_(ranks), steps_(ranks.front().imported.each_step.size()) {
    for (const RankProfile& rank : ranks) steps_ = std::min(steps_, rank.imported.each_step.size());
    for (std::size_t step = 0; step < steps_; ++step) {
      usual_.push_back(median_over(ranks, [&](const Imported& rank) { return compute(rank, step); }));
      usual_device_.push_back(median_over(ranks, [&](const Imported& rank) { return device(step_of(rank, step, steps_)); }));
    }
  }

  RankComparison run() const {
    RankComparison comparison;
    comparison.steps = steps_;
    std::vector<std::size_t> by_compute;
    for (const RankProfile& profile : ranks_) {
      comparison.ranks.push_back(compare(profile));
      add_variation(profile.imported, comparison.ranks.back().slow_since.value_or(0), comparison.variation);
      by_compute.push_back(by_compute.size());
    }
    std::sort(comparison.variation.begin(), comparison.variation.end());
    std::stable_sort(by_compute.begin(), by_compute.end(),
                     [&comparison](std::size_t a, std::size_t b) { return comparison.ranks[a].compute < comparison.ranks[b].compute; });
    comparison.median = by_compute[(by_compute.size() - 1) / 2];
    add_communication(comparison);
    return comparison;
  }

 private:
  double compute(const Imported& rank, std::size_t step) const { return step_of(rank, step, steps_).compute().value; }

  RankComparison::Rank compare(const RankProfile& profile) const {
    const Imported& imported = profile.imported;
    const auto pass = [&](std::size_t first, Seconds ImportedStep::*which) {
      return Seconds(median_over_steps(first, steps_, [&](std::size_t step) { return (step_of(imported, step, steps_).*which).value; }));
    };
    RankComparison::Rank rank;
    rank.rank = profile.rank;
    rank.compute = Seconds(median_over_steps(0, steps_, [&](std::size_t step) { return compute(imported, step); }));
    rank.factor = median_over_steps(0, steps_, [&](std::size_t step) { return ratio(compute(imported, step), usual_[step]); });
    rank.device_factor =
        median_over_steps(0, steps_, [&](std::size_t step) { return ratio(device(step_of(imported, step, steps_)), usual_device_[step]); });
    rank.slow_since = slow_since(imported);
    const std::size_t first = rank.slow_since.value_or(0);
    rank.passes = {pass(first, &ImportedStep::forward), pass(first, &ImportedStep::backward), pass(first, &ImportedStep::update)};
    if (rank.slow_since) rank.layers = slow_layers(imported, first);
    return rank;
  }

  /// The first slow step from which on four of five are slow, and two at least (where there are two).
  std::optional<std::size_t> slow_since(const Imported& rank) const {
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

  std::vector<RankComparison::Layer> slow_layers(const Imported& rank, std::size_t first) const {
    const auto of_layer = [&](const Imported& one, std::size_t layer) {
      return median_over_steps(first, steps_, [&](std::size_t step) { return step_of(one, step, steps_).layers[layer].value; });
    };
    constexpr double least = 1.01;
    std::vector<RankComparison::Layer> layers;
    for (std::size_t i = 0; i < rank.trace.layers.size(); ++i) {
      const double usual = median_over(ranks_, [&](const Imported& one) { return of_layer(one, i); });
      const double mine = of_layer(rank, i);
      if (mine - usual > resolution.value && mine > least * usual)
        layers.push_back({rank.trace.layers[i].name, Seconds(mine - usual), ratio(mine, usual)});
    }
    std::stable_sort(layers.begin(), layers.end(), [](const auto& a, const auto& b) { return a.more > b.more; });
    constexpr std::size_t most = 3;
    if (layers.size() > most) layers.resize(most);
    return layers;
  }

  /// Adds the compute of each step as a factor of its median before and after the rank became slow.
  void add_variation(const Imported& rank, std::size_t since, std::vector<double>& variation) const {
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
      const std::size_t count = step_of(ranks_.front().imported, step, steps_).collectives.size();
      const bool agree = std::all_of(ranks_.begin(), ranks_.end(), [&](const RankProfile& rank) {
        return step_of(rank.imported, step, steps_).collectives.size() == count;
      });
      if (!agree || count == 0) {
        comparison.steps_without_collectives += agree ? 0 : 1;
        continue;
      }
      double all = 0;
      std::vector<double> waits(ranks_.size());
      for (std::size_t i = 0; i < count; ++i) {
        const auto duration = [&](const RankProfile& rank) { return step_of(rank.imported, step, steps_).collectives[i].value; };
        double shortest = duration(ranks_.front());
        for (const RankProfile& rank : ranks_) shortest = std::min(shortest, duration(rank));
        all += shortest;
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) waits[rank] += duration(ranks_[rank]) - shortest;
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
