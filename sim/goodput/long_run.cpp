#include "goodput/long_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

#include "base/errors.hpp"
#include "base/indexed.hpp"

namespace syncopate {

namespace {

constexpr std::int64_t most_failures = 1'000'000;
constexpr std::int64_t most_checkpoints = 100'000'000;

/// Training work that has not been lost.
struct Work {
  double samples = 0.0;
  Seconds time;

  void take(Work& other) {
    samples += other.samples;
    time += other.time;
    other = {};
  }
};

using Policy = FailurePolicy::Kind;

/// One simulation of a run. Methods that take time return false if a failure interrupts them; the failure is then due.
class Play {
 public:
  Play(const LongRun& run, double samples, Seconds every, const SpeedOf& speed, std::uint64_t seed)
      : run_(run),
        samples_(samples),
        every_(every),
        speed_of_(speed),
        failures_(run.failures, run.nodes, seed),
        is_up_(run.nodes, true),
        up_(run.nodes),
        spares_(run.policy.spares),
        until_checkpoint_(every),
        speed_(speed(run.nodes)) {}

  RunTimes operator()() {
    const TrainingSpeed full = speed_;
    while (!is_over_) {
      if (!train() || !checkpoint()) recover();
    }
    times_.total = now_;
    times_.useful = Seconds(samples_ / full.samples_per_s);
    times_.degraded = run_.policy.may_shrink() ? saved_.time - times_.useful : Seconds(0);
    return times_;
  }

 private:
  bool is(Policy kind) const { return run_.policy.kind == kind; }
  double left() const { return samples_ - saved_.samples - pending_.samples - fresh_.samples; }

  /// Advances time and adds it to `what`. Failures of absent nodes are ignored.
  bool pass(Seconds end, Seconds& what) {
    while (failures_.time() < end) {
      what += failures_.time() - now_;
      now_ = failures_.time();
      const auto hit = failures_.nodes();
      if (std::any_of(hit.begin(), hit.end(), [&](int node) { return is_up_[node]; })) return false;
      pass_failure();
    }
    what += end - now_;
    now_ = end;
    return true;
  }

  void pass_failure() {
    failures_.pass();
    if (++passed_ > most_failures) give_up(fmt::format("{} failures", most_failures));
  }

  [[noreturn]] void give_up(const std::string& after) const {
    throw SimulationError(
        fmt::format("the run makes no progress: after {} and {:.3g} simulated hours, {:.3g}% of its samples are trained; lower the failure "
                    "rates, write checkpoints more often, or train fewer samples",
                    after, now_.value / 3600.0, 100.0 * (1.0 - left() / samples_)));
  }

  /// Trains until a checkpoint is due or all samples are trained (is_done_).
  bool train() {
    for (;;) {
      while (joins_at() <= now_) take_in();
      set_speed();
      const Seconds finish(std::max(0.0, left() / speed_.samples_per_s));
      is_done_ = finish <= (1.0 + rounding) * until_checkpoint_;
      const Seconds end = now_ + (is_done_ ? finish : until_checkpoint_);
      const Seconds join = joins_at();
      if (!train_until(std::min(end, join))) return false;
      if (end <= join) return true;
      since_step_ = Seconds(0);
      take_in();
    }
  }

  bool train_until(Seconds end) {
    Seconds time;
    const bool undisturbed = pass(end, time);
    fresh_.time += time;
    fresh_.samples += speed_.samples_per_s * time.value;
    since_step_ += time;
    until_checkpoint_ -= time;
    return undisturbed;
  }

  /// For the policy per-step: the end of the step in which the first repaired node has loaded the state.
  Seconds joins_at() const {
    if (!is(Policy::per_step) || repairs_.empty()) return never;
    const Seconds loaded = std::max(now_, repairs_.front() + run_.restart.load);
    const double steps = std::ceil((since_step_ + (loaded - now_)) / speed_.iteration);
    return std::max(now_, now_ + (steps * speed_.iteration - since_step_));
  }

  /// Writes a checkpoint. If all samples are trained, the run ends with it.
  bool checkpoint() {
    if (!run_.checkpoints) return end_run();
    if (++checkpoints_ > most_checkpoints) give_up(fmt::format("{} checkpoints", most_checkpoints));
    settle();
    since_step_ = Seconds(0);
    pending_.take(fresh_);
    complete_at_ = now_ + run_.checkpoints->write;
    const bool joins = is(Policy::shrink) && is_any_repaired() && !is_done_;
    if (!pass(is_done_ || joins ? complete_at_ : now_ + run_.checkpoints->stall, times_.checkpoint)) return false;
    settle();
    if (is_done_) return end_run();
    begin_anew();
    if (!joins) return true;
    take_in_repaired();
    return pass(now_ + run_.restart.restart + run_.restart.load, times_.restart);
  }

  bool end_run() {
    saved_.take(fresh_);
    is_over_ = true;
    return true;
  }

  /// Counts the checkpoint in progress as saved if it is complete by now.
  void settle() {
    if (complete_at_ > now_) return;
    saved_.take(pending_);
    complete_at_ = never;
  }

  /// Training goes on at the begin of a step, with a whole interval until the next checkpoint.
  void begin_anew() {
    since_step_ = Seconds(0);
    until_checkpoint_ = every_;
  }

  /// Handles the failure that is due, until training continues.
  void recover() {
    bool restarts = is(Policy::restart) || is(Policy::shrink);
    const auto again = [&] {
      strike();
      restarts = restarts || (is(Policy::per_step) && up_ == 0);
      if (!pass(now_ + run_.restart.detect, times_.detection) || !gather(restarts)) return true;
      if (is(Policy::per_step) && !restarts) return false;
      return !pass(now_ + (restarts ? run_.restart.restart : Seconds(0)) + run_.restart.load, times_.restart);
    };
    while (again()) {
    }
    begin_anew();
  }

  /// Removes failed nodes, and discards lost work.
  void strike() {
    ++times_.failures;
    settle();
    for (const int node : failures_.nodes()) {
      if (!is_up_[node]) continue;
      is_up_[node] = false;
      --up_;
      empty_.push(node);
      if (!is(Policy::restart)) repairs_.push(now_ + run_.policy.repair);
    }
    pass_failure();
    lose();
    complete_at_ = never;
    if (is(Policy::restart)) {
      while (!empty_.empty()) fill();
    }
  }

  void lose() {
    if (!is(Policy::per_step) || up_ == 0) {
      times_.lost += pending_.time + fresh_.time;
      pending_ = fresh_ = {};
      return;
    }
    const Seconds step(std::fmod(since_step_.value, speed_.iteration.value));
    times_.lost += step;
    fresh_.time -= step;
    fresh_.samples -= speed_.samples_per_s * step.value;
    fresh_.take(pending_);
    since_step_ = Seconds(0);
  }

  /// Waits until there are enough nodes. Sets `restarts` if a spare is missing.
  bool gather(bool& restarts) {
    if (is(Policy::hot_spare)) {
      place_spares();
      restarts = restarts || !empty_.empty();
      while (!empty_.empty()) {
        if (!await_repair(Seconds(0))) return false;
      }
    }
    if (!run_.policy.may_shrink()) return true;
    const Seconds load = restarts ? Seconds(0) : run_.restart.load;
    if (is(Policy::shrink)) take_in_repaired();
    while (up_ < run_.policy.min_nodes) {
      if (!await_repair(load)) return false;
    }
    return true;
  }

  /// Waits for the next repair, then for `after`, and adds the node.
  bool await_repair(Seconds after) {
    if (!pass(std::max(now_, repairs_.front() + after), times_.restart)) return false;
    take_in();
    return true;
  }

  bool is_any_repaired() const { return !repairs_.empty() && repairs_.front() <= now_; }

  void take_in_repaired() {
    while (is_any_repaired()) take_in();
  }

  /// Puts the first node in repair into an empty place.
  void take_in() {
    repairs_.pop();
    fill();
  }

  /// Counts repaired nodes as spares, and fills empty places with spares.
  void place_spares() {
    for (; is_any_repaired(); repairs_.pop()) ++spares_;
    for (; spares_ > 0 && !empty_.empty(); --spares_) fill();
  }

  void fill() {
    const int node = empty_.front();
    empty_.pop();
    is_up_[node] = true;
    ++up_;
    failures_.renew(node, now_);
  }

  /// The speed with the current nodes. It is only queried for node counts that actually train.
  void set_speed() {
    if (!run_.policy.may_shrink() || up_ == speed_is_of_) return;
    speed_ = speed_of_(up_);
    speed_is_of_ = up_;
  }

  const LongRun& run_;
  double samples_;
  Seconds every_;
  const SpeedOf& speed_of_;
  Failures failures_;
  Indexed<bool> is_up_;  ///< by the node's place in the job
  int up_;
  int spares_;
  std::queue<int> empty_;        ///< places without a node, in the order of the failures
  std::queue<Seconds> repairs_;  ///< when failed nodes come back
  Seconds now_;
  Seconds until_checkpoint_;     ///< training time until the next checkpoint begins
  Seconds complete_at_ = never;  ///< when the checkpoint in progress is complete
  Seconds since_step_;           ///< training time since the begin of a step, possibly several steps ago
  TrainingSpeed speed_;          ///< with the nodes that trained last
  int speed_is_of_ = run_.nodes;
  Work saved_;            ///< in complete checkpoints
  Work pending_;          ///< in the checkpoint in progress
  Work fresh_;            ///< in no checkpoint
  bool is_done_ = false;  ///< all samples are trained; only the last checkpoint is missing
  bool is_over_ = false;
  std::int64_t passed_ = 0;  ///< failures so far, including those of absent nodes
  std::int64_t checkpoints_ = 0;
  RunTimes times_;
};

}  // namespace

RunTimes play(const LongRun& run, double samples, Seconds every, const SpeedOf& speed, std::uint64_t seed) {
  return Play(run, samples, every, speed, seed)();
}

}  // namespace syncopate
