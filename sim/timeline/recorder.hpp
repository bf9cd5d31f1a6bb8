#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "timeline/timeline.hpp"

namespace syncopate {

/// Writes a job's timeline, and nobody else does: what happens is told to it as it happens. It keeps what figures and pictures need:
/// layers and single transfers of the workers that are shown, for the others compute as one span and transfers as bytes and busy times.
/// What begins after the measured window is left out.
class Recorder {
 public:
  /// `workers`: simulated ones; `shown`: those of them that are kept in full. `compute`: of an undisturbed step. `keeps_messages`: of all
  /// workers.
  Recorder(int workers, const std::vector<int>& shown, Seconds compute, bool keeps_messages);
  /// Also where workers meet collectives, so many times at most: if they do so more often, nothing of it.
  void keep_ties(std::size_t most) {
    timeline_.ties.resize(timeline_.steps.size());
    most_ties_ = most;
  }

  bool is_shown(int worker) const { return shown_[index(worker)]; }

  void open_window(Seconds now);
  void close_window(Seconds now);
  /// A worker has begun a step after the window: what it does from now on is not kept.
  void leave_window(int worker) { past_window_[index(worker)] = true; }
  bool has_left_window(int worker) const { return past_window_[index(worker)]; }

  void begin_step(int worker, Seconds now);
  /// A worker's step ends, and it is not there until its next one begins.
  void leave(int worker, Seconds now);
  const std::vector<Step>& steps(int worker) const { return timeline_.steps[index(worker)]; }
  /// A worker has been in a phase. Its phases follow each other without gap or overlap.
  void phase(int worker, const Span& span) {
    if (has_left_window(worker)) return;
    std::vector<Span>& spans = timeline_.spans[index(worker)];
    const auto continues = [&](const Span& last) {
      if (last.end < span.start || (last.step != span.step && step(worker).entered < 1.0)) return false;
      return last.phase == span.phase || (is_compute(last.phase) && is_compute(span.phase));
    };
    if (!is_shown(worker) && !spans.empty() && continues(spans.back())) {
      spans.back().end = span.end;
    } else {
      spans.push_back(span);
    }
  }
  void layer(const LayerSpan& span);
  void tie(int worker, const Tie& tie) {
    if (timeline_.ties.empty() || has_left_window(worker)) return;
    timeline_.ties[index(worker)].push_back(tie);
    if (++ties_ > most_ties_) timeline_.ties = {};
  }
  /// A worker has handed over `posts` collectives or messages of so many bytes each, for which it sends so much.
  void post(int worker, int posts, Bytes bytes, Bytes sent) {
    Step& its = step(worker);
    its.posts += posts;
    its.bytes += posts * bytes;
    its.sent += sent;
  }
  /// A worker holds so many bytes of others' parameters more.
  void hold(int worker, Bytes bytes) {
    held_[index(worker)] += bytes;
    timeline_.held_at_most = std::max(timeline_.held_at_most, held_[index(worker)]);
  }
  /// What others computed has entered a worker's parameters, so many steps stale.
  void update(int worker, double staleness) {
    Step& its = step(worker);
    ++its.updates;
    its.staleness += staleness;
    its.staleness_max = std::max(its.staleness_max, staleness);
  }
  /// Not all of the worker's step may enter the model: it says what does.
  void await_entry(int worker) { step(worker).entered = 0.0; }
  /// Such a share of its step's gradients does.
  void enter(int worker, double share) { step(worker).entered += share; }
  /// What entered was the mean of the ranks' models, which took so many steps: one more than had passed if the worker waited for it.
  void mix(int worker, int steps) { step(worker).mixed_after = steps; }

  /// A message has moved over a worker's own channel. Those of a kind follow each other in time.
  void transfer(int worker, TransferSpan::Kind kind, int round, const Interval& moving, const SharedPayload& payload, int to = -1);
  /// The end of the run has cut off one that had begun to move.
  void cut_off(int worker, TransferSpan::Kind kind, Interval moving);
  /// So many bytes move from a worker to another one, whether or not the run sees the end of it.
  void send(int worker, int to, const Interval& moving, Bytes bytes);
  /// The parameter servers have worked.
  void serve(const Interval& work);

  /// The complete timeline: of all `workers`, simulated or stood for, steps that have ended, and the spans of every stream's collectives.
  JobTimeline take(int workers, bool serves, std::vector<Communicator> streams, std::vector<CollectiveSpan> collectives);

 private:
  static std::size_t index(int worker) { return static_cast<std::size_t>(worker); }
  static std::size_t index(TransferSpan::Kind kind) { return static_cast<std::size_t>(kind); }
  Step& step(int worker) { return timeline_.steps[index(worker)].back(); }
  bool has_closed_by(Seconds time) const { return timeline_.window.close > Seconds(0) && time >= timeline_.window.close; }

  JobTimeline timeline_;
  std::size_t ties_ = 0;
  std::size_t most_ties_ = 0;
  bool keeps_messages_;
  std::vector<MessageSpan> sent_;  ///< what ends after the window has opened, as far as that is known
  std::vector<Bytes> held_;        ///< by worker
  std::vector<bool> shown_;
  std::vector<bool> past_window_;
  std::vector<std::optional<Seconds>> absent_since_;
  std::vector<std::array<std::vector<Interval>, TransferSpan::kinds>> busy_;  ///< by worker and kind of transfer
};

}  // namespace syncopate
