#pragma once

#include <memory>
#include <vector>

#include "timeline/shown_time.hpp"
#include "timeline/timeline.hpp"

namespace syncopate {

/// The messages of collectives that a timeline keeps: all of the collectives that begin while something is shown, up to the first
/// collective with which they would be too many.
class MessageLog {
 public:
  static constexpr double most = 500'000;       ///< messages
  static constexpr double most_shown = 50'000;  ///< messages that shown workers send
  static constexpr std::size_t most_changes = 2'000'000;

  /// `shown`: workers, ascending; none in a job beside the one that is shown. `time`: of the run, the same for all its jobs.
  MessageLog(std::vector<int> shown, std::shared_ptr<const ShownTime> time);

  bool is_shown(int worker) const;
  /// Whether messages of a collective that begins now may be kept.
  bool is_open() const { return time_->is_now() && not_kept_ == 0.0; }
  /// A collective of so many messages begins, of which shown workers send so many. Returns whether they are kept.
  bool begin(double messages, double of_shown);
  /// The messages of a collective that begins, so many, cannot be kept.
  void close(double messages) {
    if (is_open()) not_kept_ = messages;
  }
  /// `changes`: of the message's rate; left out where there are too many in all.
  void add(CollectiveMessage message, const std::vector<RateChange>& changes);

  void hand_over(JobTimeline& timeline);

 private:
  std::vector<int> shown_;
  std::shared_ptr<const ShownTime> time_;
  double begun_ = 0.0;  ///< messages of the collectives that have begun
  double begun_shown_ = 0.0;
  double not_kept_ = 0.0;  ///< as JobTimeline::messages_not_kept
  std::vector<CollectiveMessage> messages_;
  std::vector<RateChange> changes_;
};

}  // namespace syncopate
