#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/indexed.hpp"
#include "timeline/message_log.hpp"
#include "timeline/shown_time.hpp"
#include "timeline/timeline.hpp"

namespace syncopate {

/// Writes one job's timeline from events as they happen. For shown workers it keeps layers and single transfers. For other workers it
/// merges consecutive compute into one span, and keeps bytes and busy times of transfers. Events that begin after the measured window are
/// dropped, but for when bytes moved and servers worked: workers may wait for that until their last steps end.
class Recorder {
 public:
  /// `workers`: number of simulated workers. `shown`: workers kept in full. `compute`: of one undisturbed step. `keeps_messages`: keep the
  /// messages of all workers.
  Recorder(int workers, const std::vector<int>& shown, Seconds compute, bool keeps_messages);
  /// Also records Ties, at most `most` of them. If there are more, none are kept.
  void keep_ties(std::size_t most) {
    timeline_.ties.resize(timeline_.steps.size());
    most_ties_ = most;
  }

  /// Keeps layers, transfers and messages only as long as something is shown. `time`: of the run; shown workers of this job tell it of
  /// their steps.
  void show(std::shared_ptr<ShownTime> time) { shown_time_ = std::move(time); }

  /// Also keeps messages of collectives.
  void keep_collective_messages(MessageLog log) { collective_messages_ = std::move(log); }
  /// Null where they are not kept.
  MessageLog* collective_messages() { return collective_messages_ ? &*collective_messages_ : nullptr; }

  bool is_shown(int worker) const { return shown_[at(worker)]; }

  void open_window(Seconds now);
  void close_window(Seconds now);
  /// The worker has begun a step after the window. Later events of this worker are dropped.
  void leave_window(int worker) { past_window_[at(worker)] = true; }
  bool has_left_window(int worker) const { return past_window_[at(worker)]; }

  void begin_step(int worker, Seconds now);
  /// The worker's step ends. The worker is absent until its next step begins.
  void leave(int worker, Seconds now);
  const std::vector<Step>& steps(int worker) const { return timeline_.steps[at(worker)]; }
  /// The worker was in a phase. Its phases are contiguous.
  void phase(int worker, const Span& span) {
    if (has_left_window(worker)) return;
    std::vector<Span>& spans = timeline_.spans[at(worker)];
    if (!is_shown(worker) && !spans.empty() && continues(spans.back(), span, step(worker).entered)) {
      spans.back().end = span.end;
    } else {
      spans.push_back(span);
    }
  }
  void layer(const LayerSpan& span);
  void tie(int worker, const Tie& tie) {
    if (timeline_.ties.empty() || has_left_window(worker)) return;
    timeline_.ties[at(worker)].push_back(tie);
    if (++ties_ > most_ties_) timeline_.ties = {};
  }
  /// The worker posted `posts` collectives or messages of `bytes` each, for which it sends `sent` in total.
  void post(int worker, int posts, Bytes bytes, Bytes sent) {
    Step& current = step(worker);
    current.posts += posts;
    current.bytes += posts * bytes;
    current.sent += sent;
  }
  /// The worker now holds this many more bytes of other workers' parameters.
  void hold(int worker, Bytes bytes) {
    held_[at(worker)] += bytes;
    timeline_.held_at_most = std::max(timeline_.held_at_most, held_[at(worker)]);
  }
  /// An update from other workers' gradients entered the worker's parameters; `staleness` in steps.
  void update(int worker, double staleness) {
    Step& current = step(worker);
    ++current.updates;
    current.staleness += staleness;
    current.staleness_max = std::max(current.staleness_max, staleness);
  }
  /// enter() will tell which share of the current step's gradients enters the model.
  void await_entry(int worker) { step(worker).entered = 0.0; }
  /// This share of the current step's gradients enters the model.
  void enter(int worker, double share) { step(worker).entered += share; }
  /// The mean of the ranks' models entered, `steps` steps after it was posted. If the worker waited for it, the step in which it waited
  /// counts too.
  void mix(int worker, int steps) { step(worker).mixed_after = steps; }

  /// A message moved over the worker's channel. Messages of one kind are reported in order of time.
  void transfer(int worker, TransferSpan::Kind kind, int round, const Interval& moving, const SharedPayload& payload, int to = -1);
  /// The run ended during a transfer.
  void cut_off(int worker, TransferSpan::Kind kind, Interval moving);
  /// Bytes move from a worker to another one. The transfer may outlast the run.
  void send(int worker, int to, const Interval& moving, Bytes bytes);
  /// The parameter servers were busy.
  void serve(const Interval& work);

  /// The complete timeline. `workers`: all workers, simulated or represented. Contains completed steps only. `streams` and `collectives`:
  /// as in JobTimeline.
  JobTimeline take(int workers, bool serves, std::vector<Communicator> streams, std::vector<CollectiveSpan> collectives);

 private:
  static std::size_t index(TransferSpan::Kind kind) { return static_cast<std::size_t>(kind); }
  Step& step(int worker) { return timeline_.steps[at(worker)].back(); }
  bool is_past(Seconds time) const { return shown_time_ && shown_time_->is_over_by(time); }
  bool has_closed_by(Seconds time) const { return timeline_.window.close > Seconds(0) && time >= timeline_.window.close; }

  JobTimeline timeline_;
  std::size_t ties_ = 0;
  std::size_t most_ties_ = 0;
  bool keeps_messages_;
  std::shared_ptr<ShownTime> shown_time_{};
  std::optional<MessageLog> collective_messages_;
  std::vector<MessageSpan> sent_;  ///< messages that end, as far as known, after the window opened
  std::vector<Bytes> held_;        ///< bytes of other workers' parameters, by worker
  std::vector<bool> shown_;
  std::vector<bool> past_window_;
  std::vector<std::optional<Seconds>> absent_since_;
  std::vector<std::array<std::vector<Interval>, TransferSpan::kinds>> busy_;  ///< by worker and kind of transfer
};

}  // namespace syncopate
