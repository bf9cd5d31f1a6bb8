#include "engine/flow_stream.hpp"

#include <algorithm>
#include <tuple>

#include "engine/clock.hpp"

namespace syncopate {

namespace {

constexpr double rounding = 1e-12;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace

FlowStream::FlowStream(int index, int posters, StreamRules rules, PlannedCollectives& planned, Flows* flows, LatencyFactor latency_factor,
                       bool shortcuts, bool alone)
    : Stream(index, posters, 1.0),
      rules_(rules),
      planned_(planned),
      flows_(flows),
      latency_factor_(std::move(latency_factor)),
      shortcuts_(shortcuts),
      alone_(alone),
      next_start_(at(posters)),
      available_(at(posters)),
      taking_part_(at(posters)),
      sending_(2 * at(posters)),
      receiving_(2 * at(posters)) {}

FlowStream::~FlowStream() = default;

void FlowStream::posted(Handle handle, int poster, Seconds at_time) {
  Entry& entry = at_handle(handle);
  require_no_priority(entry.post);
  entry.ends.resize(at(posters()));
  call_at(at_time, [this, handle, poster, at_time] {
    if (is_stopped()) return;
    // Posts at the same time come in any order, but all those before this one are there.
    available_[at(poster)] = std::max(available_[at(poster)], handle + 1);
    start_next(poster, at_time);
  });
}

void FlowStream::start_next(int rank, Seconds now) {
  Handle& next = next_start_[at(rank)];
  while (next < available_[at(rank)] && (taking_part_[at(rank)] == 0 || rules_.pipelined)) {
    const Handle handle = next++;
    start(handle, rank, now);
  }
}

void FlowStream::start(Handle handle, int rank, Seconds now) {
  if (recall(handle, now)) return;
  ++taking_part_[at(rank)];
  Run& run = begin(handle, now);
  run.last_start = now;
  --run.to_start;
  run.equal_starts = run.equal_starts && now <= run.first_start * (1.0 + rounding);
  run.run->start(rank, now);
}

FlowStream::Run& FlowStream::begin(Handle handle, Seconds now) {
  const auto [found, is_new] = runs_.try_emplace(handle);
  Run& run = found->second;
  if (!is_new) return run;
  const Post& post = at_handle(handle).post;
  run.collective = &planned_(post.operation, post.payload->bytes);
  run.latency_factor = latency_factor_(handle);
  run.first_start = now;
  run.to_start = posters();
  PlanRun::Events events;
  events.transfer = [this, &run](PlanOrder::Turn turn, Bytes bytes, std::function<void(Seconds)> ended) {
    return transfer(run, turn, bytes, std::move(ended));
  };
  events.latency = [this, &run](PlanOrder::Turn turn, Bytes bytes) {
    const Stage& stage = run.collective->plan.stages[at(turn.stage)];
    const Message& message = stage.messages[at(turn.message)];
    const Seconds latency = run.latency_factor * planned_.network().path(message.from, message.to).latency;
    return stage.reduces ? latency + planned_.gamma() * bytes : latency;
  };
  events.ended = [this, handle](int rank, Seconds end) { rank_ended(handle, rank, end); };
  run.run = std::make_unique<PlanRun>(order_of(*run.collective), all_data(run.collective->plan, post.payload->bytes), std::move(events));
  return run;
}

const PlanOrder& FlowStream::order_of(const PlannedCollective& collective) {
  const auto found = orders_.find(&collective);
  if (found != orders_.end()) return found->second;
  return orders_.try_emplace(&collective, posters() == 1 ? fold(collective.plan) : collective.plan).first->second;
}

bool FlowStream::can_share(const PlannedCollective& collective, const Message& message) const {
  const std::vector<std::size_t>& links = planned_.network().path(message.from, message.to).links;
  return std::any_of(links.begin(), links.end(), [&](std::size_t link) { return collective.shares[link]; });
}

bool FlowStream::transfer(Run& run, PlanOrder::Turn turn, Bytes bytes, std::function<void(Seconds)> ended) {
  const Stage& stage = run.collective->plan.stages[at(turn.stage)];
  const Message& message = stage.messages[at(turn.message)];
  const auto unless_stopped = [this, ended = std::move(ended)](Seconds end) {
    if (!is_stopped()) ended(end);
  };
  const bool may_meet_others = !shortcuts_ || !alone_ || rules_.pipelined || can_share(*run.collective, message);
  if (flows_ != nullptr && may_meet_others) {
    flows_->start(message.from, message.to, bytes, unless_stopped);
    return true;
  }
  const Seconds end = clock_now() + planned_.network().path(message.from, message.to).hop().beta * bytes;
  if (flows_ != nullptr || !rules_.pipelined) {
    call_at(end, [unless_stopped, end] { unless_stopped(end); });
    return true;
  }
  const int sender = posters() == 1 ? 0 : message.from;
  const int receiver = posters() == 1 ? 0 : message.to;
  const std::size_t level = stage.inside ? at(posters()) : 0;
  char& sending = sending_[at(sender) + level];
  char& receiving = receiving_[at(receiver) + level];
  if (sending != 0 || receiving != 0) return false;
  sending = receiving = 1;
  call_at(end, [this, unless_stopped, &sending, &receiving, sender, receiver, end] {
    unless_stopped(end);
    sending = receiving = 0;
    free_channels(sender, receiver, end);
  });
  return true;
}

void FlowStream::free_channels(int sender, int receiver, Seconds now) {
  if (is_stopped()) return;
  std::vector<PlanRun*> in_order;
  in_order.reserve(runs_.size());
  for (auto& [handle, run] : runs_) in_order.push_back(run.run.get());
  for (PlanRun* run : in_order) {
    if (run->has_ended()) continue;
    run->retry(sender, now);
    run->retry(receiver, now);
  }
}

void FlowStream::rank_ended(Handle handle, int rank, Seconds now) {
  if (is_stopped()) return;
  Entry& entry = at_handle(handle);
  entry.ends[at(rank)] = now;
  --taking_part_[at(rank)];
  Run& run = runs_.at(handle);
  if (run.run->has_ended()) {
    const auto first = std::min_element(entry.ends.begin(), entry.ends.end());
    if (run.equal_starts && **first >= now * (1.0 - rounding)) {
      const Post& post = entry.post;
      known_.try_emplace({post.operation, post.payload->bytes, run.latency_factor}, now - run.first_start);
    }
    note_start(entry, run.last_start, now);
    done_.push_back(std::move(run.run));
    runs_.erase(handle);
    call_at(now, [this] { done_.clear(); });
    finish(handle);
  } else {
    wake(entry, rank);
  }
  if (!shortcuts_) {
    start_next(rank, now);
    return;
  }
  // So that a collective that all ranks start now can be told from one that they do not.
  call_after(now, [this, rank, now] {
    if (!is_stopped()) start_next(rank, now);
  });
}

void FlowStream::note_unfinished() {
  for (const auto& [handle, run] : runs_) {
    if (run.to_start == 0) note_start(at_handle(handle), run.last_start, std::max(run.last_start, clock_now()));
  }
}

bool FlowStream::recall(Handle handle, Seconds now) {
  if (!shortcuts_ || !alone_ || rules_.pipelined || !runs_.empty()) return false;
  Entry& entry = at_handle(handle);
  if (entry.posts < posters() || entry.ready > now * (1.0 + rounding)) return false;
  if (std::any_of(taking_part_.begin(), taking_part_.end(), [](int collectives) { return collectives > 0; })) return false;
  const auto known = known_.find({entry.post.operation, entry.post.payload->bytes, latency_factor_(handle)});
  if (known == known_.end() || known->second == Seconds(0)) return false;
  const Seconds end = now + known->second;
  note_start(entry, now, end);
  std::fill(taking_part_.begin(), taking_part_.end(), 1);
  std::fill(next_start_.begin(), next_start_.end(), handle + 1);
  call_at(end, [this, handle, end] { end_recalled(handle, end); });
  return true;
}

void FlowStream::end_recalled(Handle handle, Seconds now) {
  if (is_stopped()) return;
  Entry& entry = at_handle(handle);
  std::fill(entry.ends.begin(), entry.ends.end(), now);
  std::fill(taking_part_.begin(), taking_part_.end(), 0);
  finish(handle);
  for (int rank = 0; rank < posters(); ++rank) start_next(rank, now);
}

bool FlowStream::is_busy(int poster, Seconds time) const {
  for (Handle handle = first_entry(); handle < end_of_entries(); ++handle) {
    const Entry& entry = at_handle(handle);
    if (entry.posts < posters() || entry.ready > time) return false;
    if (!entry.ends[at(poster)]) return true;
  }
  return false;
}

}  // namespace syncopate
