#include "engine/network/channels.hpp"

#include <algorithm>
#include <utility>

namespace syncopate {

Channels::Channels(std::size_t ports, Clock& clock) : clock_(clock), senders_(ports), receivers_(ports) {}

void Channels::send(std::uint32_t order, std::size_t from, std::size_t to, const Moment& now, Seconds duration, const Why& why,
                    Ended ended) {
  if (unused_.empty()) {
    unused_.push_back(messages_.size());
    messages_.emplace_back();
  }
  const std::size_t message = unused_.back();
  unused_.pop_back();
  messages_[message] = {now, duration, why, std::move(ended)};
  const std::size_t number = way(from, to);
  ways_[number].waiting.emplace(order, message);
  look_at({&number, 1}, now.time);
}

std::size_t Channels::way(std::size_t from, std::size_t to) {
  const auto [known, is_new] = way_between_.try_emplace({from, to}, ways_.size());
  if (is_new) {
    ways_.push_back({from, to});
    senders_[from].ways.push_back(known->second);
    receivers_[to].ways.push_back(known->second);
  }
  return known->second;
}

void Channels::look_at(std::span<const std::size_t> ways, Seconds now) {
  bool is_any = false;
  for (const std::size_t number : ways) {
    if (ways_[number].waiting.empty()) continue;
    is_any = true;
    if (!std::exchange(ways_[number].is_candidate, true)) candidates_.push_back(number);
  }
  if (!is_any || std::exchange(is_deciding_, true)) return;
  clock_.after(now * (1.0 + rounding), [this] { decide(); });
}

void Channels::decide() {
  is_deciding_ = false;
  std::vector<std::size_t> candidates = std::exchange(candidates_, {});
  for (const std::size_t number : candidates) ways_[number].is_candidate = false;
  std::erase_if(candidates, [this](std::size_t number) { return ways_[number].waiting.empty() || !is_free(ways_[number]); });
  std::sort(candidates.begin(), candidates.end(),
            [this](std::size_t a, std::size_t b) { return *ways_[a].waiting.begin() < *ways_[b].waiting.begin(); });
  for (const std::size_t number : candidates) {
    if (is_free(ways_[number])) start(ways_[number]);
  }
}

void Channels::start(Way& way) {
  const std::size_t message = way.waiting.begin()->second;
  way.waiting.erase(way.waiting.begin());
  Waiting started = std::exchange(messages_[message], {});
  unused_.push_back(message);
  End& sender = senders_[way.from];
  End& receiver = receivers_[way.to];
  const Moment end = after(latest(latest(started.ready, sender.free), receiver.free), started.duration, started.why);
  for (End* channel_end : {&sender, &receiver}) channel_end->is_taken = true;
  clock_.at(end.time, [this, &sender, &receiver, end, ended = std::move(started.ended)] {
    for (End* channel_end : {&sender, &receiver}) {
      channel_end->is_taken = false;
      channel_end->free = end;
      look_at(channel_end->ways, end.time);
    }
    ended(end);
  });
}

}  // namespace syncopate
