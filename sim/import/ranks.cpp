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

/// The values of all ranks at one place, and their median.
template <class Value>
double median_over(const std::vector<RankProfile>& ranks, Value&& value) {
  std::vector<double> values;
  for (const RankProfile& rank : ranks) values.push_back(value(rank.imported));
  return median_of(std::move(values));
}

template <class Value>
double median_over_steps(std::size_t steps, Value&& value) {
  std::vector<double> values;
  for (std::size_t step = 0; step < steps; ++step) values.push_back(value(step));
  return median_of(std::move(values));
}

double ratio(double value, double to) { return to > 0 ? value / to : 1.0; }

double compute(const Imported& rank, std::size_t step) { return rank.each_step[step].compute().value; }

double device(const Imported& rank, std::size_t step) {
  double sum = 0;
  for (const Seconds layer : rank.each_step[step].layers) sum += layer.value;
  return sum;
}

double of_layer(const Imported& rank, std::size_t layer, std::size_t steps) {
  return median_over_steps(steps, [&](std::size_t step) { return rank.each_step[step].layers[layer].value; });
}

std::vector<RankComparison::Layer> slow_layers(const std::vector<RankProfile>& ranks, const Imported& rank, std::size_t steps) {
  std::vector<RankComparison::Layer> layers;
  for (std::size_t i = 0; i < rank.trace.layers.size(); ++i) {
    const double usual = median_over(ranks, [&](const Imported& one) { return of_layer(one, i, steps); });
    const double mine = of_layer(rank, i, steps);
    if (mine > usual) layers.push_back({rank.trace.layers[i].name, Seconds(mine - usual), ratio(mine, usual)});
  }
  std::stable_sort(layers.begin(), layers.end(), [](const auto& a, const auto& b) { return a.more > b.more; });
  constexpr std::size_t most = 3;
  if (layers.size() > most) layers.resize(most);
  return layers;
}

/// Adds what collectives take of each step, and what ranks wait in them. The rank that comes last waits for nobody: the collective's own
/// time is the shortest of the ranks'. So clocks of different machines do not matter.
void add_communication(const std::vector<RankProfile>& ranks, RankComparison& comparison) {
  std::vector<double> own;
  std::vector<std::vector<double>> waited(ranks.size());
  for (std::size_t step = 0; step < comparison.steps; ++step) {
    const std::size_t count = ranks.front().imported.each_step[step].collectives.size();
    double all = 0;
    std::vector<double> waits(ranks.size());
    for (const RankProfile& rank : ranks) {
      if (rank.imported.each_step[step].collectives.size() != count) return;
    }
    for (std::size_t i = 0; i < count; ++i) {
      double shortest = ranks.front().imported.each_step[step].collectives[i].value;
      for (const RankProfile& rank : ranks) shortest = std::min(shortest, rank.imported.each_step[step].collectives[i].value);
      all += shortest;
      for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        waits[rank] += ranks[rank].imported.each_step[step].collectives[i].value - shortest;
    }
    comparison.collectives = std::max(comparison.collectives, count);
    own.push_back(all);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) waited[rank].push_back(waits[rank]);
  }
  if (comparison.collectives == 0) return;
  comparison.communication = Seconds(median_of(own));
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) comparison.ranks[rank].waited = Seconds(median_of(waited[rank]));
}

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
      ranks.push_back({known.value_or(static_cast<std::int64_t>(ranks.size())), file.string(), import_profile(profile, settings)});
      continue;
    }
    for (const TrainingProcess& process : processes) {
      KinetoTrace own = profile;
      keep_process(own, {.rank = std::nullopt, .pid = process.pid});
      ranks.push_back({process.rank.value_or(static_cast<std::int64_t>(ranks.size())), file.string(), import_profile(own, settings)});
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

RankComparison compare_ranks(const std::vector<RankProfile>& ranks) {
  RankComparison comparison;
  comparison.steps = ranks.front().imported.each_step.size();
  for (const RankProfile& rank : ranks) comparison.steps = std::min(comparison.steps, rank.imported.each_step.size());
  const std::size_t steps = comparison.steps;
  std::vector<double> usual(steps);
  std::vector<double> usual_device(steps);
  for (std::size_t step = 0; step < steps; ++step) {
    usual[step] = median_over(ranks, [step](const Imported& rank) { return compute(rank, step); });
    usual_device[step] = median_over(ranks, [step](const Imported& rank) { return device(rank, step); });
  }
  std::vector<std::size_t> by_compute;
  for (const RankProfile& profile : ranks) {
    const Imported& imported = profile.imported;
    RankComparison::Rank rank;
    rank.rank = profile.rank;
    const std::vector<ImportedStep>& each = imported.each_step;
    rank.passes = {Seconds(median_over_steps(steps, [&](std::size_t step) { return each[step].forward.value; })),
                   Seconds(median_over_steps(steps, [&](std::size_t step) { return each[step].backward.value; })),
                   Seconds(median_over_steps(steps, [&](std::size_t step) { return each[step].update.value; }))};
    rank.compute = Seconds(median_over_steps(steps, [&](std::size_t step) { return compute(imported, step); }));
    rank.factor = median_over_steps(steps, [&](std::size_t step) { return ratio(compute(imported, step), usual[step]); });
    rank.device_factor = median_over_steps(steps, [&](std::size_t step) { return ratio(device(imported, step), usual_device[step]); });
    std::size_t since = steps;
    while (since > 0 && compute(imported, since - 1) >= RankComparison::slow * usual[since - 1]) --since;
    if (since < steps) {
      rank.slow_since = since;
      rank.layers = slow_layers(ranks, imported, steps);
    }
    for (std::size_t step = 0; step < steps; ++step) comparison.variation.push_back(ratio(compute(imported, step), rank.compute.value));
    by_compute.push_back(by_compute.size());
    comparison.ranks.push_back(std::move(rank));
  }
  std::sort(comparison.variation.begin(), comparison.variation.end());
  std::stable_sort(by_compute.begin(), by_compute.end(),
                   [&comparison](std::size_t a, std::size_t b) { return comparison.ranks[a].compute < comparison.ranks[b].compute; });
  comparison.median = by_compute[(by_compute.size() - 1) / 2];
  add_communication(ranks, comparison);
  return comparison;
}

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
      add(rank, rank.compute / usual.compute, nullptr);
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
