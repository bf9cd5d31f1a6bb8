#include "timeline/message_log.hpp"

#include <algorithm>
#include <utility>

namespace syncopate {

MessageLog::MessageLog(std::vector<int> shown, std::shared_ptr<const ShownTime> time) : shown_(std::move(shown)), time_(std::move(time)) {}

bool MessageLog::is_shown(int worker) const { return std::binary_search(shown_.begin(), shown_.end(), worker); }

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

void MessageLog::hand_over(JobTimeline& timeline) {
  timeline.collective_messages = std::move(messages_);
  timeline.rate_changes = std::move(changes_);
  timeline.messages_not_kept = not_kept_;
}

}  // namespace syncopate
