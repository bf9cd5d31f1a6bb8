#pragma once

#include <optional>
#include <vector>

#include "timeline/timeline.hpp"

namespace syncopate {

/// The messages of collectives that a timeline keeps: all of the collectives that begin while a shown worker does a shown iteration, up to
/// the first collective with which they would be too many.
class MessageLog {
 public:
  /// From 0 on, of the steps that a worker begins in the measured window.
  struct Iterations {
    int first = 0;
    int last = 0;
  };
  static constexpr double most = 500'000;       ///< messages
  static constexpr double most_shown = 50'000;  ///< messages that shown workers send
  static constexpr std::size_t most_changes = 2'000'000;

  /// `shown`: workers, ascending. `iterations`: those that are shown; none: the whole run is.
  MessageLog(const std::vector<int>& shown, std::optional<Iterations> iterations);

  bool is_shown(int worker) const;
  /// Whether messages of a collective that begins now may be kept.
  bool is_open() const { return is_open_ && not_kept_ == 0.0; }
  /// A collective of so many messages begins, of which shown workers send so many. Returns whether they are kept.
  bool begin(double messages, double of_shown);
  /// The messages of a collective that begins, so many, cannot be kept.
  void close(double messages) {
    if (is_open()) not_kept_ = messages;
  }
  /// `changes`: of the message's rate; left out where there are too many in all.
  void add(CollectiveMessage message, const std::vector<RateChange>& changes);

  void begin_step(int worker, Seconds now);
  void open_window(Seconds now);

  void hand_over(JobTimeline& timeline);

 private:
  struct Worker {
    int number = 0;
    int begun = 0;  ///< steps in the measured window
    Seconds last_begin{};
  };
  void look();

  std::vector<Worker> shown_;
  std::optional<Iterations> iterations_;
  bool is_open_;
  bool has_window_ = false;
  double begun_ = 0.0;  ///< messages of the collectives that have begun
  double begun_shown_ = 0.0;
  double not_kept_ = 0.0;  ///< as JobTimeline::messages_not_kept
  std::vector<CollectiveMessage> messages_;
  std::vector<RateChange> changes_;
};

}  // namespace syncopate
