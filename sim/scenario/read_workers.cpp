#include "scenario/read_workers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/choice.hpp"
#include "base/indexed.hpp"
#include "base/text.hpp"
#include "trace/step_profile.hpp"
#include "trace/trace.hpp"

namespace syncopate {

namespace {

constexpr Seconds never(std::numeric_limits<double>::infinity());

struct PassRow {
  std::string_view name;
  double SlowSpell::*factor;
};
constexpr std::array passes = {PassRow{"forward", &SlowSpell::forward}, PassRow{"backward", &SlowSpell::backward},
                               PassRow{"update", &SlowSpell::update}};

/// The stretch of time and the pass that an entry of "slow" is about. Nullopt if it is about all of a rank's compute.
std::optional<SlowSpell> read_spell(Object& fields, double factor) {
  const auto pass = fields.find("pass");
  const auto from = fields.find("from_s");
  const auto until = fields.find("until_s");
  if (!pass && !from && !until) return std::nullopt;
  SlowSpell spell;
  if (pass) {
    spell.*choose<PassRow>(*pass, passes).factor = factor;
  } else {
    spell.forward = spell.backward = spell.update = factor;
  }
  spell.start = from ? from->seconds() : Seconds(0);
  spell.end = until ? until->seconds() : never;
  if (spell.end <= spell.start) until->fail(fmt::format("a time after \"from_s\" ({} s)", spell.start.value));
  return spell;
}

std::vector<int> read_ranks(const Field& field, int ranks) {
  const auto chosen = parse_ranges(field.text(), ranks - 1);
  if (!chosen) field.fail(fmt::format("ascending ranks from 0 to {} such as \"0-3,7\"", ranks - 1));
  return *chosen;
}

/// Refuses a rank that an entry before has named. `what`: one that each rank has.
void name_once(int rank, const Field& list, std::string_view what, std::vector<bool>& named) {
  if (named[at(rank)]) list.fail_because(fmt::format("rank {} is named twice; give it one {}", rank, what));
  named[at(rank)] = true;
}

/// Reads the factors of "slow", and those of a pass or for a time.
void read_slow(const Field& field, int ranks, Speed& speed) {
  std::vector<double>& factors = speed.slow;
  std::vector<bool> named(at(ranks));
  for (const Field& entry : field.list()) {
    Object fields(entry);
    const Field list = fields.at("ranks");
    const std::vector<int> chosen = read_ranks(list, ranks);
    constexpr double largest = 1e6;
    const double factor = fields.at("factor").positive(largest);
    const auto spell = read_spell(fields, factor);
    fields.finish();
    for (const int rank : chosen) {
      if (spell) {
        speed.spells.push_back(*spell);
        speed.spells.back().worker = rank;
        continue;
      }
      factors.resize(at(ranks), 1.0);
      name_once(rank, list, "factor", named);
      factors[at(rank)] = factor;
    }
  }
  std::stable_sort(speed.spells.begin(), speed.spells.end(), [](const SlowSpell& a, const SlowSpell& b) { return a.worker < b.worker; });
}

/// All ranks train one model: the gradients of a trace are those of the scenario's, in the same order.
void check_gradients(const Field& field, const Trace& trace, const Scenario& scenario) {
  const StepProfile profile = step_profile(trace, scenario.granularity);
  const StepProfile whole = step_profile(*scenario.trace, scenario.granularity);
  const auto& own = profile.gradients;
  const auto& all = whole.gradients;
  if (profile.layers.size() != whole.layers.size())
    field.fail_because(fmt::format("it has {} layers, but the scenario's trace {}; all ranks train one model", profile.layers.size(),
                                   whole.layers.size()));
  constexpr std::string_view rule = "all ranks train one model, so their traces have the same gradients in the same order";
  if (own.size() != all.size())
    field.fail_because(fmt::format("it has {} gradients, but the scenario's trace {}; {}", own.size(), all.size(), rule));
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i].ready > Seconds(0) && all[i].ready == Seconds(0)) {
      field.fail_because(fmt::format(
          "its gradient {} is ready after {} s of backward, but at once in the scenario's trace; swap the traces", i, own[i].ready.value));
    }
    if (own[i].bytes == all[i].bytes) continue;  // names are those of the program that measured
    field.fail_because(fmt::format("its gradient {} is {} of {:.0f} bytes, but the scenario's trace has {} of {:.0f} bytes there; {}", i,
                                   own[i].name, own[i].bytes.value, all[i].name, all[i].bytes.value, rule));
  }
  if (trace.batch != scenario.trace->batch)
    field.fail_because(fmt::format("its batch is {}, but the scenario's trace has {}; all ranks train the same number of samples",
                                   trace.batch, scenario.trace->batch));
  if ((profile.forward > Seconds(0) && whole.forward == Seconds(0)) || (profile.backward > Seconds(0) && whole.backward == Seconds(0)))
    field.fail_because("it has a pass that takes no time in the scenario's trace; swap the traces");
  if (trace.update > Seconds(0) && scenario.trace->update == Seconds(0))
    field.fail_because("it has an update, but the scenario's trace has none to compare it with; add \"update_s\" to that trace");
}

void read_traces(const Field& field, const Scenario& scenario, Library& library, Speed& speed) {
  const int ranks = scenario.cluster.workers();
  speed.traces.resize(at(ranks));
  std::vector<bool> named(at(ranks));
  for (const Field& entry : field.list()) {
    Object fields(entry);
    const Field list = fields.at("ranks");
    const std::vector<int> chosen = read_ranks(list, ranks);
    const Field place = fields.at("trace");
    if (place.json().is_number()) place.fail("a trace, or the file or name of one");
    const std::shared_ptr<const Trace> trace = library.trace(place);
    fields.finish();
    check_gradients(place, *trace, scenario);
    for (const int rank : chosen) {
      name_once(rank, list, "trace", named);
      speed.traces[at(rank)] = trace;
    }
  }
}

struct EventRow {
  std::string_view name;
};
constexpr std::array events = {EventRow{"pause"}, EventRow{"leave"}, EventRow{"join"}};

/// Adds the event of a rank that leaves or joins to its absences.
void read_coming_and_going(const Field& at, int rank, bool leaves, std::map<int, std::vector<Absence>>& absences) {
  const Seconds time = at.seconds();
  const auto [found, is_first] = absences.try_emplace(rank);
  std::vector<Absence>& rank_absences = found->second;
  if (is_first) {
    rank_absences.push_back(leaves ? Absence{rank, time, never} : Absence{rank, Seconds(0), time});
    return;
  }
  const bool is_present = rank_absences.back().end < never;
  const Seconds last = is_present ? rank_absences.back().end : rank_absences.back().start;
  if (leaves != is_present) {
    at.fail_because(leaves ? fmt::format("rank {} has left at {} s; it must \"join\" before it leaves again", rank, last.value)
                           : fmt::format("rank {} has joined at {} s; it must \"leave\" before it joins again", rank, last.value));
  }
  if (time <= last) at.fail(fmt::format("a time after the rank's previous event ({} s)", last.value));
  if (leaves) {
    rank_absences.push_back({rank, time, never});
  } else {
    rank_absences.back().end = time;
  }
}

void read_events(const Field& field, int ranks, Speed& speed) {
  std::map<int, std::vector<Absence>> absences;
  for (const Field& entry : field.list()) {
    Object fields(entry);
    const std::string_view kind = choose<EventRow>(fields.at("kind"), events).name;
    const int rank = static_cast<int>(fields.at("rank").integer(0, ranks - 1));
    if (kind == "pause") {
      const Seconds start = fields.at("at_s").seconds();
      constexpr double longest = 1e9;
      const Seconds length(fields.at("for_s").positive(longest));
      speed.pauses.push_back({rank, start, start + length});
    } else {
      read_coming_and_going(fields.at("at_s"), rank, kind == "leave", absences);
    }
    fields.finish();
  }
  for (const auto& [rank, rank_absences] : absences)
    speed.absences.insert(speed.absences.end(), rank_absences.begin(), rank_absences.end());
}

struct SlowdownRow {
  std::string_view name;
  bool by_traffic;
};
constexpr std::array slowdowns = {SlowdownRow{"channel", false}, SlowdownRow{"traffic", true}};

void read_slowdown(const Field& field, Speed& speed) {
  constexpr double slowest = 1e3;
  if (!field.is_object()) {
    speed.overlap_slowdown = field.number(0.0, slowest);
    return;
  }
  Object fields(field);
  speed.overlap_slowdown = fields.at("factor").number(0.0, slowest);
  speed.slowed_by_traffic = choose<SlowdownRow>(fields.at("by"), slowdowns).by_traffic;
  fields.finish();
}

}  // namespace

Speed read_workers(const Field& field, const Scenario& scenario, Library& library) {
  const int ranks = scenario.cluster.workers();
  Object fields(field);
  Speed speed;
  const auto traces = fields.find("traces");
  if (traces && traces->json() != Json::array()) read_traces(*traces, scenario, library, speed);
  if (const auto jitter = fields.find("jitter")) speed.jitter = read_jitter(*jitter);
  const auto slow = fields.find("slow");
  if (slow && slow->json() != Json::array()) read_slow(*slow, ranks, speed);
  const auto event_list = fields.find("events");
  if (event_list && event_list->json() != Json::array()) read_events(*event_list, ranks, speed);
  if (const auto slowdown = fields.find("overlap_slowdown")) read_slowdown(*slowdown, speed);
  fields.finish();
  return speed;
}

void check_absences(const Scenario& scenario, const Document& document) {
  const std::vector<Absence>& absences = scenario.speed.absences;
  if (absences.empty()) return;
  const Field list(document, "/workers/events", document.root()["workers"]["events"]);
  if (!scenario.schedule.pace.may_lose_ranks) {
    list.fail_because(
        fmt::format("{} needs all of its ranks, so none may leave; use asgd, dc-asgd, downpour, eamsgd, lasgd with "
                    "\"participants\" below 1 or diloco whose workers are GPUs with a \"quorum\" below 1, or a \"run\" with a \"policy\"",
                    scenario.schedule.name));
  }
  const int first = scenario.schedule.traffic.ranks == RankKind::node ? scenario.cluster.gpus_per_node : 1;
  for (const Absence& absence : absences) {
    if (absence.worker >= first) continue;
    list.fail_because(fmt::format("rank {} must stay, because the measurement follows {}; let another rank leave", absence.worker,
                                  first == 1 ? "rank 0" : "the first node"));
  }
}

}  // namespace syncopate
