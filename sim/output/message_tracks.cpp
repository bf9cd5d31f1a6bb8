#include "output/message_tracks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/document.hpp"
#include "base/indexed.hpp"

namespace syncopate {

namespace {

constexpr int first_track = 6;         // of a sender
constexpr int further_tracks = 1'000;  // and those after it, for messages that move together

}  // namespace

MessageTracks::MessageTracks(const JobTimeline& timeline, const std::vector<std::string>& link_names)
    : timeline_(timeline), link_names_(link_names) {
  if (timeline.collective_messages.empty()) return;
  for (const CollectiveSpan& span : timeline.collectives) collectives_[{span.stream, span.number}] = &span;
  for (const CollectiveMessage& message : timeline.collective_messages) {
    if (collectives_.contains({message.stream, message.number})) sent_[message.from].push_back(&message);
  }
}

void MessageTracks::show(int worker, const Interval& time) {
  const auto found = sent_.find(worker);
  const std::vector<Step>& steps = timeline_.steps[at(worker)];
  if (found == sent_.end() || steps.empty()) return;
  std::vector<const CollectiveMessage*>& sent = found->second;
  std::stable_sort(sent.begin(), sent.end(), [](const auto* a, const auto* b) { return a->start < b->start; });
  std::vector<Seconds> free;  // by track
  for (const CollectiveMessage* message : sent) {
    const bool is_shown = message->moved > time.start && message->start < time.end && message->moved <= steps.back().end;
    if (!is_shown) continue;
    const auto lane = std::find_if(free.begin(), free.end(), [&](Seconds end) { return end <= message->start; }) - free.begin();
    if (at(static_cast<int>(lane)) == free.size()) free.emplace_back();
    free[at(static_cast<int>(lane))] = message->moved;
    by_sender_[{message->stream, message->number, worker}].push_back(shown_.size());
    shown_.push_back({message, lane == 0 ? first_track : further_tracks + static_cast<int>(lane)});
  }
}

void MessageTracks::draw(TraceEvents& events) {
  std::map<std::pair<int, int>, bool> named;
  for (const Shown& shown : shown_) {
    if (!std::exchange(named[{shown.message->from, shown.track}], true)) {
      events.name("thread_name", shown.message->from, shown.track,
                  shown.track == first_track ? "sends" : fmt::format("sends {}", shown.track - further_tracks + 1));
    }
    draw_slice(shown, events);
    draw_arrow(shown, events);
  }
}

void MessageTracks::draw_slice(const Shown& shown, TraceEvents& events) const {
  const CollectiveMessage& message = *shown.message;
  const CollectiveSpan& collective = *collectives_.at({message.stream, message.number});
  const auto microseconds = [](Seconds time) { return time.value * 1e6; };
  const std::string link =
      message.link < 0
          ? ""
          : fmt::format(R"(,"link":{})", Json(link_names_[at(message.link)]).dump(-1, ' ', false, Json::error_handler_t::replace));
  events.slice(fmt::format("part {}", message.part), "message", message.from, shown.track, {message.start, message.moved},
               fmt::format(R"("iteration":{},"of":{},"collective":{},"to":{},"step":{},"part":{},"bytes":{:.10g},"alone_us":{:.3f},)"
                           R"("sender_ready_us":{:.3f},"receiver_ready_us":{:.3f},"arrives_us":{:.3f}{})",
                           collective.round, Json(collective.payload->label).dump(-1, ' ', false, Json::error_handler_t::replace),
                           message.number, message.to, message.round, message.part, message.bytes.value, microseconds(message.alone),
                           microseconds(message.sender_ready), microseconds(message.receiver_ready), microseconds(message.arrived), link));
}

void MessageTracks::draw_arrow(const Shown& shown, TraceEvents& events) const {
  const CollectiveMessage& message = *shown.message;
  const auto sent = by_sender_.find({message.stream, message.number, message.to});
  if (sent == by_sender_.end()) return;
  const auto next = std::partition_point(sent->second.begin(), sent->second.end(),
                                         [&](std::size_t one) { return shown_[one].message->start < message.arrived * (1.0 - rounding); });
  if (next == sent->second.end()) return;
  const Shown& answer = shown_[*next];
  events.arrow(message.from, shown.track, {message.start, message.moved}, message.to, answer.track, answer.message->start);
}

}  // namespace syncopate
