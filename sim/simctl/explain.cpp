#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "base/indexed.hpp"
#include "base/interruption.hpp"
#include "base/progress.hpp"
#include "base/table.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "explain/explanation.hpp"
#include "run/links.hpp"
#include "simctl/commands.hpp"
#include "simctl/limits.hpp"
#include "simctl/settings.hpp"
#include "simctl/summary.hpp"

namespace syncopate {

namespace {

constexpr double negligible = 0.001;  ///< a share of the iteration
constexpr int most_what_ifs = 12;     ///< in the table, without limits

struct ExplainOptions {
  std::string scenario;
  SettingOptions settings;
  std::optional<std::string> point;
  std::optional<std::string> against;
  std::string by = "10%";
  bool curve = false;
  std::string format = "text";
  int jobs = 0;
  LimitOptions limits;
};

/// "10%" or "0.1".
double read_share(const std::string& text) {
  const bool is_percent = text.ends_with('%');
  const double value = to_number(is_percent ? text.substr(0, text.size() - 1) : text).value_or(-1.0) / (is_percent ? 100.0 : 1.0);
  constexpr double least = 1e-4;
  if (!(value >= least && value < 1.0)) {
    throw UsageError(fmt::format("--by {}: expected a share of at least 0.01% and below 100%, such as 10% or 0.1", text));
  }
  return value;
}

std::string title_of(const Explained& explained) {
  const std::string swept = swept_values(*explained.point, ", ");
  return fmt::format("point {}, {} on {} x {}{}", explained.point->index, explained.row.schedule, explained.row.nodes,
                     explained.row.cluster, swept.empty() ? "" : fmt::format(" ({})", swept));
}

class Explanation {
 public:
  explicit Explanation(const ExplainOptions& options)
      : options_(options), by_(read_share(options.by)), limits_(read_limits(options.limits)) {
    study_ = read_study(options.scenario, read_settings(options.settings, options.scenario));
    for (Point& point : study_.points) {
      if (point.scenario.jobs) {
        throw UsageError(
            fmt::format("{}: point {}: an explanation is of one job, and there are several; leave \"jobs\" out, or see "
                        "\"shared_links\" in results.json",
                        options.scenario, point.index));
      }
      if (point.scenario.fidelity == Fidelity::simgrid) {
        throw UsageError(fmt::format(
            "{}: point {}: SimGrid does not tell which link limits a message, and when; use \"fidelity\": \"flow\" to explain it",
            options.scenario, point.index));
      }
      point = as_one_run(std::move(point));
    }
  }

  /// Prints the point's network with the utilisation of its links, for Graphviz.
  void draw() const {
    try {
      const Point& point = chosen("--point", options_.point);
      if (const std::string excess = describe_excess(point.scenario, limits_); !excess.empty())
        throw SimulationError(fmt::format("point {}: {}", point.index, excess));
      print_data(draw_use(point));
    } catch (const SimulationError& error) {
      throw SimulationError(fmt::format("{}: {}", study_.file, error.what()));
    }
  }

  void explain() {
    std::vector<const Point*> points = {&chosen("--point", options_.point)};
    if (options_.against) points.push_back(&chosen("--against", options_.against));
    const InterruptionWatch watch;
    try {
      explained_ = syncopate::explain(points, options_.jobs, InterruptionWatch::interrupted, limits_);
    } catch (const SimulationError& error) {
      throw SimulationError(fmt::format("{}: {}", study_.file, error.what()));
    }
    if (!options_.against) ask();
    if (options_.format == "json") {
      print_data(pretty(json()));
    } else {
      print();
    }
  }

 private:
  const Point& chosen(const char* option, const std::optional<std::string>& number) const {
    return chosen_point(study_, options_.scenario, option, number);
  }

  void ask() {
    std::optional<ProgressBar> progress;
    what_if_ = ask_what_if(
        explained_.front(), options_.curve ? std::vector{0.0, 0.1, 0.25, 0.5, 1.0} : std::vector{by_}, options_.jobs,
        [&](std::size_t /*done*/, std::size_t all) {
          if (!progress) progress.emplace(all, "simulations", true);
          progress->advance();
        },
        InterruptionWatch::interrupted, limits_);
  }

  Json json() const {
    return options_.against ? explanation_json(study_.file, explained_.front(), explained_.back())
                            : explanation_json(study_.file, explained_.front(), what_if_);
  }

  // Text output

  /// The path with the forward times of all layers summed, likewise the backward times, and the jitter of all workers.
  static std::vector<PathShare> summary_of(const std::vector<PathShare>& path) {
    std::vector<PathShare> shares = path;
    for (PathShare& share : shares) {
      if (share.kind == "compute") share.what.erase(0, share.what.rfind('.') + 1);
      if (share.kind == "jitter" && share.what.starts_with("worker ")) share.what = "workers";
    }
    return summed(shares);
  }

  static void print_path(const Explained& explained) {
    std::vector<Cells> table = {{"critical path", "", "time", "share"}};
    for (const PathShare& share : summary_of(explained.path)) {
      table.push_back({share.kind, share.what, share.seconds, percent(share.seconds / explained.iteration())});
    }
    display("{}\n", format_table(table));
    std::string longest;
    int listed = 0;
    constexpr int most_listed = 3;
    for (const PathShare& share : explained.path) {
      if (share.kind != "compute" || listed == most_listed) continue;
      ++listed;
      longest += fmt::format("{}{} {}", longest.empty() ? "" : ", ", share.what, format_seconds(share.seconds));
    }
    if (!longest.empty()) display("longest layers on it: {}\n\n", longest);
  }

  static std::string change_label(const Factor& factor, double by) {
    if (factor.kind == Factor::Kind::limit) return factor.limit;
    return fmt::format("x {}", rounded(factor.factor(by), 4));
  }

  void print_what_if() const {
    const Seconds iteration = explained_.front().iteration();
    std::vector<Cells> table(1);
    if (options_.curve) {
      table.front() = {"what if, better by", "", "0%", "10%", "25%", "50%", "100%"};
    } else {
      table.front() = {"what if", "", "iteration", "saves"};
    }
    int shown = 0;
    int others = 0;
    double most_saved = 0.0;
    for (const WhatIf& what : what_if_) {
      const bool is_limit = what.factor.is_unreal();
      const bool failed = std::any_of(what.effects.begin(), what.effects.end(), [](const Effect& effect) { return !effect.iteration; });
      const double saved = what.saved(iteration);
      const bool costs = saved <= -negligible;
      if (!is_limit && !failed && !costs && (shown == most_what_ifs || saved < negligible)) {
        ++others;
        most_saved = std::max(most_saved, saved);
        continue;
      }
      if (!is_limit) ++shown;
      const auto saves = [&](const Effect& effect) { return effect.iteration ? percent(1.0 - *effect.iteration / iteration) : "fails"; };
      Cells line = {what.factor.name};
      if (options_.curve) {
        line.emplace_back(what.effects.size() == 1 ? change_label(what.factor, 0.0) : "");
        line.resize(table.front().size() - what.effects.size());
        for (const Effect& effect : what.effects) line.emplace_back(saves(effect));
      } else {
        const Effect& effect = what.effects.front();
        line.emplace_back(change_label(what.factor, effect.by));
        line.push_back(effect.iteration ? Cell(*effect.iteration) : Cell());
        line.emplace_back(saves(effect));
      }
      table.push_back(line);
    }
    display("{}", format_table(table));
    if (others > 0) display("{} other{}: at most {} each; --format json has all\n", others, others == 1 ? "" : "s", percent(most_saved));
    for (const WhatIf& what : what_if_) {
      for (const Effect& effect : what.effects) {
        if (!effect.iteration) display("{} {}: {}\n", what.factor.name, change_label(what.factor, effect.by), effect.error);
      }
    }
  }

  void print_difference() const {
    const Explained& a = explained_.front();
    const Explained& b = explained_.back();
    std::map<std::pair<std::string, std::string>, std::pair<Seconds, Seconds>> both;
    for (const PathShare& share : summary_of(a.path)) both[{share.kind, share.what}].first = share.seconds;
    for (const PathShare& share : summary_of(b.path)) both[{share.kind, share.what}].second = share.seconds;
    using Line = std::pair<std::pair<std::string, std::string>, std::pair<Seconds, Seconds>>;
    std::vector<Line> lines(both.begin(), both.end());
    const auto difference = [](const Line& line) { return line.second.second - line.second.first; };
    std::stable_sort(lines.begin(), lines.end(),
                     [&](const Line& x, const Line& y) { return std::abs(difference(x).value) > std::abs(difference(y).value); });
    std::vector<Cells> table = {
        {"critical path", "", fmt::format("point {}", a.point->index), fmt::format("point {}", b.point->index), "difference"}};
    const auto add = [&](const std::string& kind, const std::string& what, Seconds first, Seconds second) {
      const bool same = std::abs((second - first).value) <= 1e3 * rounding * std::max(a.iteration(), b.iteration()).value;
      table.push_back({kind, what, first, second, same ? Seconds(0) : second - first});
    };
    for (const Line& line : lines) add(line.first.first, line.first.second, line.second.first, line.second.second);
    add("iteration", "", a.iteration(), b.iteration());
    display("{}", format_table(table));
  }

  void print() const {
    display("{}\n", describe_study(study_));
    for (const Explained& explained : explained_) {
      display("{}: {} per iteration, {}\n", title_of(explained), format_seconds(explained.iteration()), to_string(explained.row.fidelity));
    }
    display("\n");
    if (options_.against) return print_difference();
    print_path(explained_.front());
    print_what_if();
  }

  const ExplainOptions& options_;
  double by_;
  Limits limits_;
  Study study_;
  std::vector<Explained> explained_;
  std::vector<WhatIf> what_if_;
};

}  // namespace

void add_explain_command(CLI::App& app) {
  const auto options = std::make_shared<ExplainOptions>();
  CLI::App* command = app.add_subcommand("explain", "Say why an iteration takes as long as it does, and what would make it faster");
  command->add_option("SCENARIO", options->scenario, "scenario/1 file, or a name that \"simctl list scenarios\" shows; - is stdin")
      ->required();
  command->add_option("--point", options->point, "which point of its sweep");
  CLI::Option* against =
      command->add_option("--against", options->against, "another point: what makes it slower or faster, class by class");
  CLI::Option* by = command->add_option("--by", options->by, "how much better each thing is made (default: 10%)")->excludes(against);
  command->add_flag("--curve", options->curve, "make it better by 0, 10, 25, 50 and 100%")->excludes(against)->excludes(by);
  command
      ->add_option("--format", options->format,
                   "text, json (explanation/1), or dot: the network and how much its cables are used, for Graphviz")
      ->check(CLI::IsMember({"text", "json", "dot"}));
  command->add_option("-j,--jobs", options->jobs, "simulations at the same time (default: one per core)")->check(CLI::Range(1, 1024));
  add_setting_options(*command, options->settings);
  add_limit_options(*command, options->limits, "a simulation");
  command->footer("Example: simctl explain quickstart --point 0");
  command->callback([options] {
    Explanation explanation(*options);
    if (options->format != "dot") return explanation.explain();
    if (options->against) throw UsageError("--format dot draws one point; leave --against out");
    explanation.draw();
  });
}

}  // namespace syncopate
