#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "advise/adviser.hpp"
#include "base/files.hpp"
#include "base/interruption.hpp"
#include "base/project_files.hpp"
#include "base/table.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "simctl/caveats.hpp"
#include "simctl/commands.hpp"
#include "simctl/limits.hpp"

namespace syncopate {

namespace {

using Objective = Advice::Objective;

constexpr std::size_t most_candidates = 8;

struct AdviseOptions {
  std::string advice;
  std::string folder;
  std::string format = "text";
  int jobs = 0;
  LimitOptions limits;
};

std::string hours_label(double hours) { return fmt::format("{:.4g} h", hours); }

class Report {
 public:
  Report(const AdviseOptions& options, const Adviser& adviser) : options_(options), adviser_(adviser) {}

  ExitCode report() const {
    if (!options_.folder.empty()) write();
    if (options_.format == "json") {
      print_data(pretty(json()));
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

  std::string title(const Candidate& its) const { return syncopate::title(its, adviser_.advice()); }

  /// Time and cost. The cost includes dedicated server nodes.
  static std::string figures(const Candidate& its) {
    if (!its.cost) return hours_label(its.hours);
    const int servers = its.paid_nodes - its.nodes;
    const std::string paid =
        servers > 0 ? fmt::format(" for {} nodes, {} of them {}", its.paid_nodes, servers, servers == 1 ? "a server" : "servers") : "";
    return fmt::format("{}, cost {:.4g}{}", hours_label(its.hours), *its.cost, paid);
  }

  /// The objective at `hours`.
  std::string objective_label(const Candidate& its, double hours) const {
    const double value = adviser_.criteria().measures(its, hours).front();
    return by_cost() ? fmt::format("{:.4g}", value) : hours_label(value);
  }
  bool by_cost() const { return adviser_.advice().objective == Objective::cost; }
  std::string in_other_worlds(const Candidate& its) const {
    if (!its.risk) return "";
    return fmt::format("; in other worlds {}{} in the mean, {} at worst", by_cost() ? "cost " : "",
                       objective_label(its, its.risk->mean_hours), objective_label(its, its.risk->worst_hours));
  }

  /// The objective over the faster to the slower of usual networks.
  std::string over_usual_networks(const Candidate& its) const {
    if (!its.row.iteration_fast || !its.row.iteration_slow) return "";
    const auto label = [&](Seconds iteration) { return objective_label(its, its.hours * (iteration / its.row.metrics.iteration)); };
    return fmt::format("; over usual networks {}{} to {}", by_cost() ? "cost " : "", label(*its.row.iteration_fast),
                       label(*its.row.iteration_slow));
  }

  void print_table(const std::vector<std::size_t>& rows, bool shows_factor) const {
    Cells header = {"schedule", "cluster", "nodes", "iteration", "time"};
    if (has_costs()) header.emplace_back("cost");
    header.emplace_back("staleness");
    if (shows_factor) header.emplace_back("as good with samples x");
    const bool has_risk =
        !shows_factor && std::any_of(rows.begin(), rows.end(), [this](std::size_t index) { return at(index).risk.has_value(); });
    if (has_risk) header.insert(header.end(), {"mean", "worst", "worst regret", "mean regret"});
    std::vector<Cells> table = {header};
    for (std::size_t i = 0; i < std::min(rows.size(), most_candidates); ++i) {
      const Candidate& its = at(rows[i]);
      const std::string servers = its.paid_nodes > its.nodes ? fmt::format("+{}", its.paid_nodes - its.nodes) : "";
      Cells line = {value_label(its.schedule), its.row.cluster, fmt::format("{}{}", its.nodes, servers), its.row.metrics.iteration,
                    hours_label(its.hours)};
      if (has_costs()) line.emplace_back(its.cost ? fmt::format("{:.4g}", *its.cost) : "");
      line.emplace_back(fmt::format("{:.3g}", its.row.metrics.staleness_mean));
      if (shows_factor) line.emplace_back(fmt::format("{:.3g}", adviser_.break_even(rows[i])));
      if (has_risk) {
        const auto shown = [&](const auto& label) { return its.risk ? label(*its.risk) : std::string(); };
        line.emplace_back(shown([&](const auto& risk) { return objective_label(its, risk.mean_hours); }));
        line.emplace_back(shown([&](const auto& risk) { return objective_label(its, risk.worst_hours); }));
        line.emplace_back(shown([](const auto& risk) { return percent(*risk.worst_regret); }));
        line.emplace_back(shown([](const auto& risk) { return percent(*risk.mean_regret); }));
      }
      table.push_back(line);
    }
    display("{}", format_table(table));
    if (rows.size() > most_candidates) display("{} more: --format json has all\n", rows.size() - most_candidates);
  }

  /// The best candidate of each schedule, cluster and number of nodes.
  std::vector<std::size_t> ranking() const {
    std::vector<std::size_t> kept;
    for (const std::size_t index : adviser_.ranking()) {
      const auto is_same = [&](std::size_t better) { return adviser_.is_same_but_parameters(index, better); };
      if (std::none_of(kept.begin(), kept.end(), is_same)) kept.push_back(index);
    }
    return kept;
  }

  void print() const {
    std::vector<std::string> runs;
    for (const auto& [fidelity, count] : adviser_.simulated()) runs.push_back(fmt::format("{} in {}", count, fidelity));
    const std::size_t count = adviser_.candidates().size();
    display("{} candidate{}, simulated: {}\n", count, count == 1 ? "" : "s", fmt::join(runs, ", "));
    const std::vector<std::size_t> best = adviser_.front();
    if (best.empty()) {
      print_nothing();
    } else if (adviser_.choice()) {
      print_choice();
    } else {
      display("\nthe Pareto front of time and cost:\n\n");
      print_table(best, false);
    }
    print_staler();
    const bool is_brief = stdout_width().has_value();
    for (const std::string& note : adviser_.notes()) {
      if (!is_brief || !adviser_.estimates().notes.contains(note)) display("note: {}\n", note);
    }
    if (is_brief) display("{}", caveat_of_today(adviser_.estimates()));
    print_left_out();
    print_command();
    print_page();
  }

  void print_page() const {
    const auto program = command_of_page("advice");
    if (options_.folder.empty() || !program) return;
    display("for a page: {}\n", command_line({*program, options_.folder, "-o", options_.folder + "/advice.html"}));
  }

  void print_choice() const {
    const Candidate& best = at(*adviser_.choice());
    display("\ntake {}: {}{}{}{}\n", title(best), figures(best), staleness(best), over_usual_networks(best), in_other_worlds(best));
    if (adviser_.runner_up()) {
      const Candidate& other = at(*adviser_.runner_up());
      display("runner-up: {}: {}, {}{}{}{}\n", title(other), figures(other), difference(other, best), staleness(other),
              over_usual_networks(other), in_other_worlds(other));
    }
    std::vector<std::string> decides;
    for (const WhatIf& what : adviser_.decides()) {
      const Effect& effect = what.effects.front();
      const double factor = what.factor.factor(effect.by);
      const std::string change = what.factor.kind == Factor::Kind::limit ? what.factor.limit : fmt::format("x {:.3g}", factor);
      decides.push_back(fmt::format("{} {} would save {:.1f}%", what.factor.name, change,
                                    100.0 * (1.0 - *effect.iteration / best.row.metrics.iteration)));
    }
    if (!decides.empty()) display("what holds it back: {}\n", fmt::join(decides, ", "));
    const std::vector<std::size_t> rows = ranking();
    if (rows.size() > 1) {
      display("\n");
      print_table(rows, false);
    }
  }

  /// The difference in the objective; with a risk, in its mean over the worlds.
  std::string difference(const Candidate& other, const Candidate& best) const {
    const double its = adviser_.criteria().mean_value(other);
    const double least = adviser_.criteria().mean_value(best);
    if (std::abs(its - least) <= practically_none * least) return "as good";
    const std::string_view direction = its > least ? (by_cost() ? "dearer" : "slower") : (by_cost() ? "cheaper" : "faster");
    return fmt::format("{} {}{}", percent(std::abs(its / least - 1.0)), direction, best.risk ? " in their mean" : "");
  }

  static std::string staleness(const Candidate& its) {
    return its.is_sgd ? "" : fmt::format(", staleness {:.3g}", its.row.metrics.staleness_mean);
  }

  void print_nothing() const {
    const Advice& advice = adviser_.advice();
    const auto is_comparable = [](const Candidate& its) { return its.depth >= 0 && its.is_comparable(); };
    const bool has_some = std::any_of(adviser_.candidates().begin(), adviser_.candidates().end(), is_comparable);
    const bool has_limits = advice.most_staleness || advice.budget || advice.deadline_h;
    display("\nno schedule that is equivalent to synchronous SGD or has a \"samples_factor\" {}\n", !has_some ? "is among the candidates"
                                                                                                    : has_limits
                                                                                                        ? "is within the limits"
                                                                                                        : "can be simulated deep enough");
    const Candidate* fastest = nullptr;
    const Candidate* cheapest = nullptr;
    for (const Candidate& its : adviser_.candidates()) {
      if (!is_comparable(its)) continue;
      if (fastest == nullptr || its.hours < fastest->hours) fastest = &its;
      if (its.cost && (cheapest == nullptr || *its.cost < *cheapest->cost)) cheapest = &its;
    }
    if (fastest != nullptr) display("the fastest: {}: {}{}\n", title(*fastest), figures(*fastest), in_other_worlds(*fastest));
    if (cheapest != nullptr) display("the cheapest: {}: {}{}\n", title(*cheapest), figures(*cheapest), in_other_worlds(*cheapest));
  }

  void print_staler() const {
    const std::vector<std::size_t> rows = adviser_.staler();
    if (rows.empty()) return;
    const bool is_compared = std::isfinite(adviser_.break_even(rows.front()));
    display("\n{} not equivalent to synchronous SGD; to compare them, give a \"samples_factor\":\n\n",
            is_compared ? "better for the same samples, but" : "these schedules are");
    print_table(rows, is_compared);
  }

  void print_left_out() const {
    const std::vector<std::string>& left_out = adviser_.left_out();
    if (left_out.empty()) return;
    if (left_out.size() == 1) {
      display("note: 1 candidate cannot be simulated: {}\n", left_out.front());
    } else {
      display("note: {} candidates cannot be simulated (--format json names all), for example {}\n", left_out.size(), left_out.front());
    }
  }

  void print_command() const {
    if (!adviser_.choice()) return;
    if (!options_.folder.empty()) {
      display("\nsimulate it: {}\n", command_line({own_command(), "run", options_.folder + "/choice.json"}));
      return;
    }
    const Json scenario = adviser_.scenario(at(*adviser_.choice()), std::filesystem::current_path());
    display("\nsimulate it: printf %s {} | {}\n", command_line({scenario.dump()}), command_line({own_command(), "run", "-"}));
  }

  Json json() const {
    const Advice& advice = adviser_.advice();
    constexpr std::array names = {"time", "cost", "pareto"};
    Json json = {{"format", "advice-result/1"},
                 {"name", advice.scenario.root()["name"]},
                 {"objective", names.at(static_cast<std::size_t>(advice.objective))},
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
                 {"fidelity", to_string(its.row.fidelity)},
                 {"simulated_deepest", its.depth == Candidate::depths - 1},
                 {"iteration_s", its.row.metrics.iteration.value},
                 {"throughput_samples_per_s", its.row.metrics.throughput},
                 {"staleness_mean", its.row.metrics.staleness_mean},
                 {"is_sgd", its.is_sgd},
                 {"is_comparable", its.is_comparable()},
                 {"samples_factor", its.samples_factor ? Json(*its.samples_factor) : Json()},
                 {"paid_nodes", its.paid_nodes},
                 {"hours", its.hours},
                 {"cost", its.cost ? Json(*its.cost) : Json()},
                 {"within_limits", adviser_.criteria().is_within_limits(its)},
                 {"on_front", is_in(best) || is_in(staler) || adviser_.choice() == index}};
    if (is_in(staler)) {
      const double factor = adviser_.break_even(index);
      json["as_good_with_samples"] = std::isfinite(factor) ? Json(factor) : Json();
    }
    if (its.row.iteration_fast) json["iteration_fast_s"] = its.row.iteration_fast->value;
    if (its.row.iteration_slow) json["iteration_slow_s"] = its.row.iteration_slow->value;
    if (its.row.details.contains("fidelity_note")) json["fidelity_note"] = its.row.details["fidelity_note"];
    if (!its.refusal.empty()) json["refusal"] = its.refusal;
    if (its.risk) json["risk"] = risk_json(its);
    return json;
  }

  Json risk_json(const Candidate& its) const {
    const auto objective = [&](double hours) { return adviser_.criteria().measures(its, hours).front(); };
    const auto or_null = [](const std::optional<double>& number) { return number ? Json(*number) : Json(); };
    return {{"mean", objective(its.risk->mean_hours)},
            {"worst", objective(its.risk->worst_hours)},
            {"worst_regret", or_null(its.risk->worst_regret)},
            {"mean_regret", or_null(its.risk->mean_regret)}};
  }

  void write() const {
    const std::filesystem::path folder(options_.folder);
    write_file(folder / "advice.json", pretty(json()));
    if (adviser_.choice()) {
      write_file(folder / "choice.json", pretty(adviser_.scenario(at(*adviser_.choice()), folder)));
    } else {
      std::error_code ignored;
      std::filesystem::remove(folder / "choice.json", ignored);  // it would belong to an earlier run
    }
  }

  const AdviseOptions& options_;
  const Adviser& adviser_;
};

}  // namespace

void add_advise_command(CLI::App& app, ExitCode& code) {
  const auto options = std::make_shared<AdviseOptions>();
  CLI::App* command = app.add_subcommand("advise", "Choose a schedule, its parameters, a cluster and its size, by time or cost");
  command->add_option("ADVICE", options->advice, "advice/1 file, or a name that \"simctl list advice\" shows; - is stdin")->required();
  command->add_option("-o,--output", options->folder, "folder for advice.json (all candidates) and choice.json (a scenario of the choice)");
  command->add_option("--format", options->format, "text, or json (advice-result/1)")->check(CLI::IsMember({"text", "json"}));
  command->add_option("-j,--jobs", options->jobs, "simulations at the same time (default: one per core)")->check(CLI::Range(1, 1024));
  add_limit_options(*command, options->limits, "a simulation");
  command->footer("Example: simctl advise cheapest");
  command->callback([options, &code] {
    Advice advice = read_advice(options->advice == "-" ? "-" : named_file(options->advice, {FileKind::advice}));
    if (!options->folder.empty()) make_writable_folder(options->folder);
    const InterruptionWatch watch;
    Adviser adviser(std::move(advice), {.jobs = options->jobs,
                                        .interrupted = InterruptionWatch::interrupted,
                                        .limits = read_limits(options->limits),
                                        .shows_progress = true});
    adviser.search();
    code = Report(*options, adviser).report();
  });
}

}  // namespace syncopate
