#include "engine/worker/speed.hpp"

#include <algorithm>
#include <cmath>

#include "base/indexed.hpp"
#include "base/random.hpp"

namespace syncopate {

namespace {

template <class Value>
bool all_equal(const std::vector<Value>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

template <class Stretch>
std::vector<Stretch> joined(const std::vector<Stretch>& all, int first_worker, int count) {
  std::vector<Stretch> chosen;
  for (const Stretch& stretch : all) {
    if (stretch.worker >= first_worker && stretch.worker < first_worker + count) chosen.push_back(stretch);
  }
  std::sort(chosen.begin(), chosen.end(), [](const Stretch& a, const Stretch& b) { return a.start < b.start; });
  std::vector<Stretch> joined;
  for (const Stretch& stretch : chosen) {
    if (!joined.empty() && stretch.start <= joined.back().end) {
      joined.back().end = std::max(joined.back().end, stretch.end);
    } else {
      joined.push_back(stretch);
    }
  }
  return joined;
}

}  // namespace

bool SlowSpell::is_lasting() const { return start == Seconds(0) && !std::isfinite(end.value); }

bool Speed::has_events() const {
  const auto is_event = [](const SlowSpell& spell) { return !spell.is_lasting(); };
  return !pauses.empty() || !absences.empty() || std::any_of(spells.begin(), spells.end(), is_event);
}

void Speed::clear_events() {
  pauses.clear();
  absences.clear();
  std::erase_if(spells, [](const SlowSpell& spell) { return !spell.is_lasting(); });
}

bool Speed::uniform() const { return all_equal(slow) && all_equal(traces) && spells.empty() && !has_events() && !jitter.varies(); }

double Speed::slowness(int worker) const { return slow.empty() ? 1.0 : slow[at(worker)]; }

double Speed::slowness(int worker, Phase phase, Seconds now) const {
  double factor = slowness(worker);
  auto spell =
      std::lower_bound(spells.begin(), spells.end(), worker, [](const SlowSpell& each, int number) { return each.worker < number; });
  for (; spell != spells.end() && spell->worker == worker; ++spell) {
    if (spell->start <= now && now < spell->end) factor *= spell->factor(phase);
  }
  return factor;
}

double Speed::compute_factor(int worker, int step, Phase phase, Seconds now) const {
  const auto uniform = uniform_pair(seed, static_cast<std::uint32_t>(worker), static_cast<std::uint32_t>(step), 0);
  return slowness(worker, phase, now) * jitter.factor(uniform);
}

std::vector<Pause> Speed::pauses_of(int first_worker, int count) const { return joined(pauses, first_worker, count); }

std::vector<Absence> Speed::absences_of(int first_worker, int count) const { return joined(absences, first_worker, count); }

Seconds end_of_compute(Seconds start, Seconds length, const std::vector<Pause>& pauses) {
  for (const Pause& pause : pauses) {
    if (length == Seconds(0) || start + length <= pause.start * (1.0 + rounding)) break;
    if (pause.end <= start * (1.0 + rounding)) continue;
    length -= std::max(Seconds(0), pause.start - start);
    start = pause.end;
  }
  return start + length;
}

Seconds end_of_pause(Seconds time, const std::vector<Pause>& pauses) {
  for (const Pause& pause : pauses) {
    if (pause.start <= time * (1.0 + rounding) && time * (1.0 + rounding) < pause.end) return pause.end;
  }
  return time;
}

}  // namespace syncopate
