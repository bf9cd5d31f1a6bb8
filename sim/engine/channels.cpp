#include "engine/channels.hpp"

#include <algorithm>
#include <utility>

namespace syncopate {

Channels::Channels(std::size_t ports, Clock& clock) : clock_(clock), senders_(ports), receivers_(ports) {}

void Channels::send(Ticket ticket, std::size_t from, std::size_t to, const Moment& now, Seconds duration, const Why& why, Ended ended) {
  if (unused_.empty()) {
    unused_.push_back(messages_.size());
    messages_.emplace_back();
  }
  const std::size_t message = unused_.back();
  unused_.pop_back();
  messages_[message] = {ticket, from, to, now, duration, why, std::move(ended)};
  senders_[from].waiting.push_back(message);
  receivers_[to].waiting.push_back(message);
  look_at({&message, 1}, now.time);
}

void Channels::look_at(std::span<const std::size_t> messages, Seconds now) {
  if (messages.empty()) return;
  candidates_.insert(candidates_.end(), messages.begin(), messages.end());
  if (std::exchange(is_deciding_, true)) return;
  clock_.after(now * (1.0 + rounding), [this] { decide(); });
}

void Channels::decide() {
  is_deciding_ = false;
  std::vector<std::size_t> candidates = std::exchange(candidates_, {});
  const auto older = [this](std::size_t a, std::size_t b) { return std::pair(messages_[a].ticket, a) < std::pair(messages_[b].ticket, b); };
  std::sort(candidates.begin(), candidates.end(), older);
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  for (const std::size_t message : candidates) {
    const Waiting& its = messages_[message];
    if (!senders_[its.from].is_taken && !receivers_[its.to].is_taken) start(message);
  }
}

void Channels::start(std::size_t message) {
  Waiting its = std::exchange(messages_[message], {});
  unused_.push_back(message);
  End& sender = senders_[its.from];
  End& receiver = receivers_[its.to];
  const Moment end = after(latest(latest(its.ready, sender.free), receiver.free), its.duration, its.why);
  for (End* one : {&sender, &receiver}) {
    one->is_taken = true;
    one->waiting.erase(std::find(one->waiting.begin(), one->waiting.end(), message));
  }
  clock_.at(end.time, [this, &sender, &receiver, end, ended = std::move(its.ended)] {
    for (End* one : {&sender, &receiver}) {
      one->is_taken = false;
      one->free = end;
      look_at(one->waiting, end.time);
    }
    ended(end);
  });
}

}  // namespace syncopate
