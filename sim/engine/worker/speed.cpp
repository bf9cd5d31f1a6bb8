#include "engine/worker/speed.hpp"

#include <algorithm>

#include "base/indexed.hpp"
#include "base/random.hpp"

namespace syncopate {

namespace {

bool all_equal(const std::vector<double>& factors) {
  return std::adjacent_find(factors.begin(), factors.end(), std::not_equal_to<>()) == factors.end();
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

bool Speed::uniform() const { return all_equal(slow) && !has_events() && !jitter.varies(); }

double Speed::slowness(int worker) const { return slow.empty() ? 1.0 : slow[at(worker)]; }

double Speed::compute_factor(int worker, int step) const {
  const auto uniform = uniform_pair(seed, static_cast<std::uint32_t>(worker), static_cast<std::uint32_t>(step), 0);
  return slowness(worker) * jitter.factor(uniform);
}

std::vector<Pause> Speed::pauses_of(int first_worker, int count) const { return joined(pauses, first_worker, count); }

std::vector<Absence> Speed::absences_of(int first_worker, int count) const { return joined(absences, first_worker, count); }

Seconds end_of_compute(Seconds start, Seconds length, const std::vector<Pause>& pauses) {
  for (const Pause& pause : pauses) {
    if (length == Seconds(0) || start + length <= pause.start) break;
    if (pause.end <= start) continue;
    length -= std::max(Seconds(0), pause.start - start);
    start = pause.end;
  }
  return start + length;
}

Seconds end_of_pause(Seconds time, const std::vector<Pause>& pauses) {
  for (const Pause& pause : pauses) {
    if (pause.start <= time && time < pause.end) return pause.end;
  }
  return time;
}

}  // namespace syncopate
