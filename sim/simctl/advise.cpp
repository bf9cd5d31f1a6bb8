#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/files.hpp"
#include "base/interruption.hpp"
#include "base/project_files.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "simctl/commands.hpp"
#include "study/adviser.hpp"

namespace syncopate {

namespace {

using Objective = Advice::Objective;

constexpr std::size_t most_rows = 8;

struct Options {
  std::string advice;
  std::string folder;
  std::string format = "text";
  int jobs = 0;
};

std::string hours_label(double hours) { return fmt::format("{:.4g} h", hours); }

class Report {
 public:
  Report(const Options& options, const Adviser& adviser) : options_(options), adviser_(adviser) {}

  ExitCode report() const {
    if (!options_.folder.empty()) write();
    if (options_.format == "json") {
      fmt::print("{}\n", dump(json()));
    } else {
      print();
    }
    return adviser_.front().empty() ? ExitCode::simulation_failed : ExitCode::done;
  }

 private:
  bool has_costs() const {
    return std::any_of(adviser_.candidates().begin(), adviser_.candidates().end(),
                       [](const Candidate& its) { return its.cost.has_value(); });
  }
  const Candidate& at(std::size_t index) const { return adviser_.candidates()[index]; }
  static std::string dump(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace); }

  static std::string title(const Candidate& its) {
    return fmt::format("{} on {} node{} of {}", value_label(its.schedule), its.nodes, its.nodes == 1 ? "" : "s", its.row.cluster);
  }
  static std::string figures(const Candidate& its) {
    return hours_label(its.hours) + (its.cost ? fmt::format(", cost {:.4g}", *its.cost) : "");
  }

  void print_table(const std::vector<std::size_t>& rows, bool shows_factor) const {
    std::vector<std::string> header = {"schedule", "cluster", "nodes", "iteration", "time"};
    if (has_costs()) header.emplace_back("cost");
    header.emplace_back("staleness");
    if (shows_factor) header.emplace_back("as good with samples x");
    const bool has_risk =
        !shows_factor && std::any_of(rows.begin(), rows.end(), [this](std::size_t index) { return at(index).risk.has_value(); });
    if (has_risk) header.insert(header.end(), {"worst regret", "mean regret"});
    std::vector<std::vector<std::string>> table = {header};
    for (std::size_t i = 0; i < std::min(rows.size(), most_rows); ++i) {
      const Candidate& its = at(rows[i]);
      std::vector<std::string> line = {value_label(its.schedule), its.row.cluster, fmt::format("{}", its.nodes),
                                       format_seconds(its.row.metrics.iteration), hours_label(its.hours)};
      if (has_costs()) line.push_back(its.cost ? fmt::format("{:.4g}", *its.cost) : "");
      line.push_back(fmt::format("{:.3g}", its.row.metrics.staleness_mean));
      if (shows_factor) line.push_back(fmt::format("{:.3g}", adviser_.break_even(rows[i])));
      if (has_risk) {
        line.push_back(its.risk ? fmt::format("{:.1f}%", 100.0 * its.risk->worst_regret) : "");
        line.push_back(its.risk ? fmt::format("{:.1f}%", 100.0 * its.risk->mean_regret) : "");
      }
      table.push_back(line);
    }
    fmt::print("{}", format_table(table));
    if (rows.size() > most_rows) fmt::print("{} more: --format json has all\n", rows.size() - most_rows);
  }

  /// The best comparable ones that were simulated deepest, one of each schedule, cluster and number of nodes.
  std::vector<std::size_t> ranking() const {
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < adviser_.candidates().size(); ++i) {
      const Candidate& its = at(i);
      if (its.depth == Candidate::depths - 1 && its.is_comparable && adviser_.is_within_limits(its)) rows.push_back(i);
    }
    const auto value = [&](std::size_t index) { return std::pair(adviser_.choice() != index, adviser_.value(at(index))); };
    std::stable_sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) { return value(a) < value(b); });
    std::vector<std::size_t> kept;
    for (const std::size_t index : rows) {
      const auto is_same = [&](std::size_t other) {
        return at(other).place == at(index).place && at(other).nodes == at(index).nodes &&
               at(other).schedule["name"] == at(index).schedule["name"];
      };
      if (std::none_of(kept.begin(), kept.end(), is_same)) kept.push_back(index);
    }
    return kept;
  }

  void print() const {
    std::vector<std::string> runs;
    for (const auto& [fidelity, count] : adviser_.simulated()) runs.push_back(fmt::format("{} in {}", count, fidelity));
    const std::size_t count = adviser_.candidates().size();
    fmt::print("{} candidate{}, simulated: {}\n", count, count == 1 ? "" : "s", fmt::join(runs, ", "));
    const std::vector<std::size_t> best = adviser_.front();
    if (best.empty()) {
      print_nothing();
    } else if (adviser_.choice()) {
      print_choice();
    } else {
      fmt::print("\nnothing is both faster and cheaper than any of these:\n\n");
      print_table(best, false);
    }
    print_staler();
    for (const std::string& note : adviser_.notes()) fmt::print("note: {}\n", note);
    if (!adviser_.advice().needs_values.empty())
      fmt::print("note: not considered, as they need values in \"tune\": {}\n", fmt::join(adviser_.advice().needs_values, ", "));
    print_left_out();
    print_command();
    print_page();
  }

  void print_page() const {
    const auto program = find_file("analysis/advice.py");
    if (options_.folder.empty() || !program) return;
    const std::string its = program->lexically_proximate(std::filesystem::current_path()).string();
    fmt::print("for a page: {}\n", command_line({its, options_.folder, "-o", options_.folder + "/advice.html"}));
  }

  void print_choice() const {
    const Candidate& best = at(*adviser_.choice());
    fmt::print("\ntake {}: {}{}\n", title(best), figures(best), staleness(best));
    if (adviser_.runner_up()) {
      const Candidate& other = at(*adviser_.runner_up());
      const double more = adviser_.value(other) / adviser_.value(best) - 1.0;
      const bool by_cost = adviser_.advice().objective == Objective::cost;
      const std::string difference = std::abs(more) <= practically_none
                                         ? "as good"
                                         : fmt::format("{:.1f}% {}", std::abs(100.0 * more),
                                                       more >= 0.0 ? (by_cost ? "dearer" : "slower") : (by_cost ? "cheaper" : "faster"));
      fmt::print("runner-up: {}: {}, {}{}\n", title(other), figures(other), difference, staleness(other));
    }
    std::vector<std::string> decides;
    for (const WhatIf& what : adviser_.decides()) {
      const Effect& effect = what.effects.front();
      const double factor = what.factor.factor(effect.by);
      const std::string change = what.factor.kind == Factor::Kind::limit ? what.factor.limit : fmt::format("x {:.3g}", factor);
      decides.push_back(fmt::format("{} {} would save {:.1f}%", what.factor.name, change,
                                    100.0 * (1.0 - *effect.iteration / best.row.metrics.iteration)));
    }
    if (!decides.empty()) fmt::print("what holds it back: {}\n", fmt::join(decides, ", "));
    const std::vector<std::size_t> rows = ranking();
    if (rows.size() > 1) {
      fmt::print("\n");
      print_table(rows, false);
    }
  }

  static std::string staleness(const Candidate& its) {
    return its.is_sgd ? "" : fmt::format(", staleness {:.3g}", its.row.metrics.staleness_mean);
  }

  void print_nothing() const {
    fmt::print("\nnothing that trains as synchronous SGD does, or has a \"samples_factor\", is within the limits\n");
    const Candidate* fastest = nullptr;
    const Candidate* cheapest = nullptr;
    for (const Candidate& its : adviser_.candidates()) {
      if (its.depth < 0 || !its.is_comparable) continue;
      if (fastest == nullptr || its.hours < fastest->hours) fastest = &its;
      if (its.cost && (cheapest == nullptr || *its.cost < *cheapest->cost)) cheapest = &its;
    }
    if (fastest != nullptr) fmt::print("the fastest: {}: {}\n", title(*fastest), figures(*fastest));
    if (cheapest != nullptr) fmt::print("the cheapest: {}: {}\n", title(*cheapest), figures(*cheapest));
  }

  void print_staler() const {
    const std::vector<std::size_t> rows = adviser_.staler();
    if (rows.empty()) return;
    fmt::print(
        "\nbetter, but they do not train as synchronous SGD does; if you know how many times the samples they need, say so "
        "(\"samples_factor\"):\n\n");
    print_table(rows, true);
  }

  void print_left_out() const {
    const std::vector<std::string>& left_out = adviser_.left_out();
    if (left_out.empty()) return;
    fmt::print("note: {} candidate{} cannot be simulated, for example {}\n", left_out.size(), left_out.size() == 1 ? "" : "s",
               left_out.front());
  }

  void print_command() const {
    if (!adviser_.choice()) return;
    if (!options_.folder.empty()) {
      fmt::print("\nsimulate it: {}\n", command_line({"simctl", "run", options_.folder + "/choice.json"}));
      return;
    }
    const Json scenario = adviser_.scenario(at(*adviser_.choice()), std::filesystem::current_path());
    fmt::print("\nsimulate it: echo {} | simctl run -\n", command_line({scenario.dump()}));
  }

  Json json() const {
    const Advice& advice = adviser_.advice();
    constexpr std::array names = {"time", "cost", "pareto"};
    Json json = {{"format", "advice-result/1"},
                 {"name", advice.scenario.root()["name"]},
                 {"objective", names[static_cast<std::size_t>(advice.objective)]},
                 {"samples", advice.samples}};
    json["samples_factor"] = advice.samples_factor;
    if (adviser_.choice()) json["choice"] = *adviser_.choice();
    if (adviser_.runner_up()) json["runner_up"] = *adviser_.runner_up();
    json["decides"] = Json::array();
    for (const WhatIf& what : adviser_.decides()) {
      const Effect& effect = what.effects.front();
      json["decides"].push_back(
          {{"factor", what.factor.name},
           {"change", what.factor.kind == Factor::Kind::limit ? Json(what.factor.limit) : Json(what.factor.factor(effect.by))},
           {"time_saved", 1.0 - *effect.iteration / at(*adviser_.choice()).row.metrics.iteration}});
    }
    json["simulated"] = adviser_.simulated();
    json["notes"] = adviser_.notes();
    json["left_out"] = adviser_.left_out();
    json["candidates"] = Json::array();
    const std::vector<std::size_t> best = adviser_.front();
    const std::vector<std::size_t> staler = adviser_.staler();
    for (std::size_t i = 0; i < adviser_.candidates().size(); ++i) {
      if (at(i).depth >= 0) json["candidates"].push_back(candidate_json(i, best, staler));
    }
    return json;
  }

  Json candidate_json(std::size_t index, const std::vector<std::size_t>& best, const std::vector<std::size_t>& staler) const {
    const Candidate& its = at(index);
    const auto is_in = [index](const std::vector<std::size_t>& list) { return std::find(list.begin(), list.end(), index) != list.end(); };
    Json json = {{"candidate", index},
                 {"cluster", its.row.cluster},
                 {"nodes", its.nodes},
                 {"schedule", its.schedule},
                 {"fidelity", its.row.fidelity},
                 {"simulated_deepest", its.depth == Candidate::depths - 1},
                 {"iteration_s", its.row.metrics.iteration.value},
                 {"throughput_samples_per_s", its.row.metrics.throughput},
                 {"staleness_mean", its.row.metrics.staleness_mean},
                 {"is_sgd", its.is_sgd},
                 {"hours", its.hours},
                 {"cost", its.cost ? Json(*its.cost) : Json()},
                 {"within_limits", adviser_.is_within_limits(its)},
                 {"on_front", is_in(best) || is_in(staler)}};
    if (is_in(staler)) json["as_good_with_samples"] = adviser_.break_even(index);
    if (its.risk)
      json["risk"] = {{"mean", its.risk->mean}, {"worst_regret", its.risk->worst_regret}, {"mean_regret", its.risk->mean_regret}};
    return json;
  }

  void write() const {
    const std::filesystem::path folder(options_.folder);
    write_file(folder / "advice.json", dump(json()) + '\n');
    if (adviser_.choice()) write_file(folder / "choice.json", dump(adviser_.scenario(at(*adviser_.choice()), folder)) + '\n');
  }

  const Options& options_;
  const Adviser& adviser_;
};

}  // namespace

void add_advise_command(CLI::App& app, ExitCode& code) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("advise", "Choose a schedule, its parameters, a cluster and its size, by time or cost");
  command->add_option("ADVICE", options->advice, "advice/1 file, see scenarios/advice/README.md; - is stdin")->required();
  command->add_option("-o,--output", options->folder, "folder for advice.json, all candidates, and choice.json, a scenario of the choice");
  command->add_option("--format", options->format, "text, or json (advice-result/1)")->check(CLI::IsMember({"text", "json"}));
  command->add_option("-j,--jobs", options->jobs, "simulations at the same time (default: one per core)")->check(CLI::Range(1, 1024));
  command->footer("Example: simctl advise scenarios/advice/cheapest.json");
  command->callback([options, &code] {
    Advice advice = read_advice(options->advice);
    if (!options->folder.empty()) make_writable_folder(options->folder);
    const InterruptionWatch watch;
    Adviser adviser(std::move(advice), options->jobs, InterruptionWatch::interrupted);
    adviser.search();
    code = Report(*options, adviser).report();
  });
}

}  // namespace syncopate
