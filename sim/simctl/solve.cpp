#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>

#include "advise/threshold.hpp"
#include "base/indexed.hpp"
#include "base/interruption.hpp"
#include "base/processes.hpp"
#include "base/project_files.hpp"
#include "base/table.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "output/figures.hpp"
#include "run/point.hpp"
#include "run/usual_networks.hpp"
#include "simctl/commands.hpp"
#include "simctl/limits.hpp"
#include "simctl/settings.hpp"

namespace syncopate {

namespace {

struct SolveOptions {
  std::string scenario;
  std::string pointer;
  std::string condition;
  std::string from;
  std::string to;
  SettingOptions settings;
  int jobs = 0;
  LimitOptions limits;
  std::string format = "text";
};

/// A column of results against a number: "efficiency >= 0.9".
class Condition {
 public:
  explicit Condition(const std::string& text) {
    std::array<char, 64> column{};
    std::array<char, 3> comparison{};
    std::array<char, 64> number{};
    int end = 0;
    const int parts =
        std::sscanf(text.c_str(), " %63[A-Za-z0-9_] %2[<>=] %63[-+0-9.eE] %n", column.data(), comparison.data(), number.data(), &end);
    operator_ = comparison.data();
    constexpr std::array<std::string_view, 4> operators = {">=", "<=", ">", "<"};
    if (parts != 3 || static_cast<std::size_t>(end) != text.size() || std::ranges::find(operators, operator_) == operators.end())
      throw UsageError(fmt::format("--until '{}': expected a column, >=, <=, > or <, and a number, such as 'efficiency >= 0.9'", text));
    const std::string name = column.data();
    std::vector<std::string> names;
    for (const Figure& figure : figures()) names.emplace_back(figure.name);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      throw UsageError(fmt::format("--until '{}': results have no column \"{}\"{}", text, name, did_you_mean(name, names)));
    if (name == "iteration_fast_s" || name == "iteration_slow_s") {
      throw UsageError(fmt::format(
          "--until '{}': {} is of usual networks, over which the column \"usual networks\" has the answers; use iteration_s", text, name));
    }
    column_ = &figures()[static_cast<std::size_t>(found - names.begin())];
    const auto limit = to_number(number.data());
    if (!limit) throw UsageError(fmt::format("--until '{}': \"{}\" is not a number", text, number.data()));
    limit_ = *limit;
  }

  std::string_view column() const { return column_->name; }

  /// The column's value. Throws UsageError if it is not a number.
  double value(const Row& row) const {
    const Json value = column_->value(row);
    if (value.is_number()) return value.get<double>();
    throw UsageError(fmt::format("--until: the column {} has no number in this scenario", column_->name));
  }

  bool holds(double value) const {
    if (operator_ == ">=") return value >= limit_;
    if (operator_ == "<=") return value <= limit_;
    return operator_ == ">" ? value > limit_ : value < limit_;
  }

 private:
  const Figure* column_ = nullptr;
  std::string operator_;
  double limit_ = 0.0;
};

/// The search for one point of the scenario's sweep.
struct Search {
  std::size_t point;  ///< its index
  std::vector<std::pair<std::string, Json>> sweep;
  ThresholdSearch threshold;
  std::map<std::int64_t, double> values{};  ///< of the column, by step
  std::string error{};
  double LinkKind::*share = nullptr;  ///< of usual networks, in place of the cluster's; none: the search that was asked for

  bool is_asked_for() const { return share == nullptr; }
  bool has_threshold() const {
    if (!error.empty()) return false;
    const ThresholdSearch::Result result = threshold.result();
    return result == ThresholdSearch::Result::from || result == ThresholdSearch::Result::until;
  }
};

class Solver {
 public:
  explicit Solver(const SolveOptions& options)
      : options_(options), condition_(options.condition), range_(options.from, options.to), limits_(read_limits(options.limits)) {
    settings_ = read_settings(options.settings, options.scenario);
    const Study plain = read_study(options.scenario, settings_);
    for (const auto& [pointer, value] : plain.points.front().sweep) {
      if (!is_at_or_above(pointer, options.pointer) && !is_at_or_above(options.pointer, pointer)) continue;
      throw UsageError(
          fmt::format("--for {}: the scenario sweeps {}; pin that with --set, or leave it out of the sweep", options.pointer, pointer));
    }
    for (std::size_t i = 0; i < plain.points.size(); ++i) searches_.push_back({i, plain.points[i].sweep, ThresholdSearch(range_)});
    if (shows_ranges(plain)) add_usual_networks();
  }

  ExitCode solve() {
    search();
    if (options_.format == "json") {
      print_data(pretty(solution_json()));
    } else {
      print();
    }
    for (const Search& search : searches_) {
      if (search.is_asked_for() && !search.error.empty()) complain("simctl: {}: {}", options_.scenario, search.error);
    }
    const bool failed = std::any_of(searches_.begin(), searches_.end(), [](const Search& search) {
      return search.is_asked_for() && (!search.error.empty() || search.threshold.result() == ThresholdSearch::Result::several);
    });
    return failed ? ExitCode::simulation_failed : ExitCode::done;
  }

 private:
  struct Task {
    std::size_t search;
    std::int64_t step;
  };

  const Study& study(std::int64_t step) {
    const auto found = studies_.find(step);
    if (found != studies_.end()) return found->second;
    std::vector<Setting> settings = settings_;
    settings.push_back({options_.pointer, range_.value(step), "--for"});
    return studies_.try_emplace(step, read_study(options_.scenario, settings)).first->second;
  }

  /// Searches over the faster and over the slower of usual networks, for points whose links have usual shares at some of the values.
  void add_usual_networks() {
    const std::vector<std::int64_t> steps = searches_.front().threshold.wanted();
    const std::size_t points = searches_.size();
    for (std::size_t i = 0; i < points; ++i) {
      if (std::none_of(steps.begin(), steps.end(), [&](std::int64_t step) { return has_range(study(step).points[i].scenario); })) continue;
      for (double LinkKind::*share : {&LinkKind::high, &LinkKind::low})
        searches_.push_back({.point = i, .sweep = searches_[i].sweep, .threshold = ThresholdSearch(range_), .share = share});
    }
  }

  void search() {
    const InterruptionWatch watch;
    while (ask_all() > 0) {
    }
  }

  std::size_t ask_all() {
    std::vector<Task> tasks;
    for (std::size_t i = 0; i < searches_.size(); ++i) {
      if (!searches_[i].error.empty()) continue;
      for (const std::int64_t step : searches_[i].threshold.wanted()) tasks.push_back({i, step});
    }
    std::vector<Point> over_others;  // over other networks than the scenario's
    over_others.reserve(tasks.size());
    std::vector<const Point*> points;
    points.reserve(tasks.size());
    for (const Task& task : tasks) {
      const Search& search = searches_[task.search];
      const Point& point = study(task.step).points[search.point];
      if (search.is_asked_for()) {
        points.push_back(&point);
        continue;
      }
      over_others.push_back(point);
      over_others.back().scenario.cluster = with_share(point.scenario.cluster, search.share);
      points.push_back(&over_others.back());
    }
    std::vector<std::map<std::int64_t, bool>> answers(searches_.size());
    simulate_points(
        points, options_.jobs, [](int /*index*/) { return PointOptions(); },
        [&](int i, const Outcome& outcome) {
          const auto& [index, step] = tasks[at(i)];
          Search& search = searches_[index];
          if (!outcome.ok) {
            if (search.error.empty()) search.error = fmt::format("point {} at {}: {}", search.point, label(step), outcome.error);
            return;
          }
          const double value = condition_.value(make_row(*points[at(i)], PointResult::unpack(outcome.result)));
          search.values[step] = value;
          answers[index][step] = condition_.holds(value);
        },
        InterruptionWatch::interrupted, {.limits = limits_});
    if (InterruptionWatch::interrupted()) throw Interrupted();
    for (std::size_t i = 0; i < searches_.size(); ++i) {
      if (searches_[i].error.empty() && !answers[i].empty()) searches_[i].threshold.learn(std::move(answers[i]));
    }
    return tasks.size();
  }

  std::string label(std::int64_t step) const { return value_label(range_.value(step)); }

  /// Where the condition holds, and the column's value there.
  std::pair<std::string, std::string> answer(const Search& search) const {
    using enum ThresholdSearch::Result;
    const auto value_at = [&](std::int64_t step) { return rounded(search.values.at(step), 4); };
    const auto ends = [&] { return fmt::format("{} to {}", value_at(range_.first()), value_at(range_.last())); };
    switch (search.threshold.result()) {
      case everywhere: return {"everywhere", ends()};
      case nowhere: return {"nowhere", ends()};
      case from: return {"from " + label(search.threshold.threshold()), value_at(search.threshold.threshold())};
      case until: return {"up to " + label(search.threshold.threshold()), value_at(search.threshold.threshold())};
      case several: break;
    }
    std::vector<std::string> changes;
    for (const std::int64_t step : search.threshold.changes()) changes.push_back(label(step));
    return {fmt::format("comes and goes, after {}", fmt::join(changes, ", ")), ends()};
  }

  /// The search of the same point over the networks with that share; nullptr if there is none, or if it failed.
  const Search* over(double LinkKind::*share, const Search& asked) const {
    const auto found = std::find_if(searches_.begin(), searches_.end(), [&](const Search& search) {
      return search.point == asked.point && search.share == share && search.error.empty();
    });
    return found == searches_.end() ? nullptr : &*found;
  }

  /// Where the condition holds over the faster and over the slower of usual networks. Empty if that is not known.
  std::string usual_answer(const Search& asked) const {
    const auto has_failed = [&](const Search& search) {
      return search.point == asked.point && !search.is_asked_for() && !search.error.empty();
    };
    if (std::any_of(searches_.begin(), searches_.end(), has_failed)) return "failed";
    const Search* const fast = over(&LinkKind::high, asked);
    const Search* const slow = over(&LinkKind::low, asked);
    if (fast == nullptr || slow == nullptr) return "";
    const bool are_alike = fast->has_threshold() && slow->has_threshold() && fast->threshold.result() == slow->threshold.result();
    if (answer(*fast).first == answer(*slow).first) return answer(*fast).first;
    if (!are_alike) return fmt::format("fast: {}, slow: {}", answer(*fast).first, answer(*slow).first);
    return fmt::format("{} to {}", answer(*fast).first, label(slow->threshold.threshold()));
  }

  void print() const {
    std::vector<std::vector<std::string>> table(1);
    for (const auto& [pointer, value] : searches_.front().sweep) table.front().push_back(pointer);
    table.front().insert(table.front().end(), {options_.pointer, std::string(condition_.column())});
    const bool has_usual = std::any_of(searches_.begin(), searches_.end(), [](const Search& search) { return !search.is_asked_for(); });
    if (has_usual) table.front().emplace_back("usual networks");
    for (const Search& search : searches_) {
      if (!search.is_asked_for()) continue;
      std::vector<std::string> line;
      for (const auto& [pointer, value] : search.sweep) line.push_back(value_label(value));
      const auto [where, value] = search.error.empty() ? answer(search) : std::pair(std::string("failed"), std::string());
      line.insert(line.end(), {where, value});
      if (has_usual) line.push_back(usual_answer(search));
      table.push_back(line);
    }
    display("{}, of {} from {} to {}:\n\n{}", options_.condition, options_.pointer, label(range_.first()), label(range_.last()),
            format_table(table));
    const auto found = std::find_if(searches_.begin(), searches_.end(),
                                    [](const Search& search) { return search.is_asked_for() && search.has_threshold(); });
    if (found == searches_.end()) return;
    std::vector<std::string> command = {own_command(), "run", options_.scenario};
    const std::vector<std::string> words = words_of(options_.settings);
    command.insert(command.end(), words.begin(), words.end());
    command.insert(command.end(), {"--set", fmt::format("{}={}", options_.pointer, range_.value(found->threshold.threshold()).dump())});
    display("\nrun it at that value: {}\n", command_line(command));
  }

  static std::string_view holds(const Search& search) {
    using enum ThresholdSearch::Result;
    switch (search.threshold.result()) {
      case everywhere: return "everywhere";
      case nowhere: return "nowhere";
      case from: return "from";
      case until: return "up to";
      case several: break;
    }
    return "comes and goes";
  }

  Json threshold_json(const Search& search) const { return search.has_threshold() ? range_.value(search.threshold.threshold()) : Json(); }

  Json usual_json(const Search* search) const {
    if (search == nullptr) return nullptr;
    return {{"holds", holds(*search)}, {"at", threshold_json(*search)}};
  }

  Json answer_json(const Search& search) const {
    Json json = {{"sweep", Json::object()},
                 {"holds", "failed"},
                 {"at", threshold_json(search)},
                 {"value", nullptr},
                 {"ends", nullptr},
                 {"error", nullptr},
                 {"changes_after", nullptr},
                 {"fast", usual_json(over(&LinkKind::high, search))},
                 {"slow", usual_json(over(&LinkKind::low, search))}};
    for (const auto& [pointer, value] : search.sweep) json["sweep"][pointer] = value;
    if (!search.error.empty()) {
      json["error"] = search.error;
      return json;
    }
    json["ends"] = {search.values.at(range_.first()), search.values.at(range_.last())};
    json["holds"] = holds(search);
    if (search.has_threshold()) json["value"] = search.values.at(search.threshold.threshold());
    if (search.threshold.result() == ThresholdSearch::Result::several) {
      json["changes_after"] = Json::array();
      for (const std::int64_t step : search.threshold.changes()) json["changes_after"].push_back(range_.value(step));
    }
    return json;
  }

  Json solution_json() const {
    Json json = {{"format", "solve/1"},
                 {"scenario", options_.scenario},
                 {"for", options_.pointer},
                 {"until", options_.condition},
                 {"column", condition_.column()},
                 {"from", range_.value(range_.first())},
                 {"to", range_.value(range_.last())},
                 {"points", Json::array()}};
    for (const Search& search : searches_) {
      if (search.is_asked_for()) json["points"].push_back(answer_json(search));
    }
    return json;
  }

  const SolveOptions& options_;
  Condition condition_;
  ValueRange range_;
  Limits limits_;
  std::vector<Setting> settings_;
  std::map<std::int64_t, Study> studies_;
  std::vector<Search> searches_;
};

}  // namespace

void add_solve_command(CLI::App& app, ExitCode& code) {
  const auto options = std::make_shared<SolveOptions>();
  CLI::App* command = app.add_subcommand("solve", "Find the value of a key from which on, or up to which, a result is as wanted");
  command->add_option("SCENARIO", options->scenario, "scenario/1 file or its name, - is stdin; what it sweeps is solved point by point")
      ->required();
  command->add_option("--for", options->pointer, "the key's JSON pointer, such as /cluster/link/bandwidth")->required();
  command->add_option("--until", options->condition, "what is wanted of a column of results.csv, such as 'efficiency >= 0.9'")->required();
  command->add_option("--from", options->from, "the least value to consider: a whole number, a decimal, or one with a unit")->required();
  command->add_option("--to", options->to, "the largest one")->required();
  command->add_option("-j,--jobs", options->jobs, "points that run at the same time (default: one per core)")->check(CLI::Range(1, 1024));
  add_setting_options(*command, options->settings);
  add_limit_options(*command, options->limits, "a point");
  add_json_option(*command, options->format);
  command->footer("Example: simctl solve quickstart --for /cluster/link/bandwidth --from 1Gbps --to 100Gbps --until 'efficiency >= 0.9'");
  command->callback([options, &code] { code = Solver(*options).solve(); });
}

}  // namespace syncopate
