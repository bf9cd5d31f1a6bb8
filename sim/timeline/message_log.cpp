#include "timeline/message_log.hpp"

#include <algorithm>
#include <utility>

namespace syncopate {

MessageLog::MessageLog(const std::vector<int>& shown, std::optional<Iterations> iterations)
    : iterations_(iterations), is_open_(!iterations) {
  for (const int worker : shown) shown_.push_back({.number = worker});
}

bool MessageLog::is_shown(int worker) const {
  const auto found =
      std::lower_bound(shown_.begin(), shown_.end(), worker, [](const Worker& one, int number) { return one.number < number; });
  return found != shown_.end() && found->number == worker;
}

bool MessageLog::begin(double messages, double of_shown) {
  if (!is_open()) return false;
  if (begun_ + messages > most || begun_shown_ + of_shown > most_shown) {
    not_kept_ = messages;
    return false;
  }
  begun_ += messages;
  begun_shown_ += of_shown;
  return true;
}

void MessageLog::add(CollectiveMessage message, const std::vector<RateChange>& changes) {
  if (changes_.size() + changes.size() <= most_changes) {
    message.first_change = changes_.size();
    message.changes = static_cast<std::int32_t>(changes.size());
    changes_.insert(changes_.end(), changes.begin(), changes.end());
  }
  messages_.push_back(message);
}

void MessageLog::begin_step(int worker, Seconds now) {
  const auto found = std::find_if(shown_.begin(), shown_.end(), [worker](const Worker& one) { return one.number == worker; });
  if (found == shown_.end()) return;
  found->last_begin = now;
  if (has_window_) ++found->begun;
  look();
}

void MessageLog::open_window(Seconds now) {
  has_window_ = true;
  for (Worker& worker : shown_) worker.begun = worker.last_begin >= now * (1.0 - rounding) ? 1 : 0;
  look();
}

void MessageLog::look() {
  if (!iterations_) return;
  is_open_ = has_window_ && std::any_of(shown_.begin(), shown_.end(), [this](const Worker& worker) {
               return worker.begun > iterations_->first && worker.begun <= iterations_->last + 1;
             });
}

void MessageLog::hand_over(JobTimeline& timeline) {
  timeline.collective_messages = std::move(messages_);
  timeline.rate_changes = std::move(changes_);
  timeline.messages_not_kept = not_kept_;
}

}  // namespace syncopate
