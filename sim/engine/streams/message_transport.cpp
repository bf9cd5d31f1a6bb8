#include "engine/streams/message_transport.hpp"

#include <algorithm>
#include <utility>

namespace syncopate {

MessageTransport::MessageTransport(int lanes, Communicator communicator, PlannedCollectives& planned, Flows* flows,
                                   LatencyFactor latency_factor, MessageLatency latency, const Options& options, Clock& clock)
    : lanes_(lanes),
      communicator_(std::move(communicator)),
      planned_(planned),
      flows_(flows),
      latency_factor_(std::move(latency_factor)),
      latencies_(latency),
      options_(options),
      clock_(clock) {
  if (flows == nullptr && options.overlaps) channels_.emplace(2 * at(lanes), clock);
}

MessageTransport::~MessageTransport() = default;

std::optional<Moment> MessageTransport::start(const Movement& movement, int lane, const Moment& now) {
  Run& run = begin(movement, now.time);
  run.equal_starts = run.equal_starts && now.time <= run.first_start * (1.0 + rounding);
  const Moment released = prepared(movement, lane, now);
  if (released.time == now.time) {
    run.run->start(lane, now);
  } else {
    clock_.at(released.time, [&run, lane, released] { run.run->start(lane, released); });
  }
  return std::nullopt;
}

MessageTransport::Run& MessageTransport::begin(const Movement& movement, Seconds now) {
  const auto [found, is_new] = runs_.try_emplace(movement.ticket);
  Run& run = found->second;
  if (!is_new) return run;
  run.collective = &planned_(movement.operation, communicator_, movement.bytes());
  run.movement = movement;
  run.latency_factor = latency_factor_(movement.ticket);
  run.first_start = now;
  PlanRun::Events events;
  if (options_.log != nullptr && lanes_ > 1) {
    const Plan& plan = run.collective->plan();
    run.is_kept = may_keep(plan);
    const double count = count_messages(plan);
    if (recalls() && known_messages_ + count <= MessageLog::most && !known_.contains(known_by(movement))) {
      known_messages_ += count;
      run.messages = std::make_shared<Messages>();
    }
  }
  const bool is_followed = run.is_kept || run.messages;
  events.transfer = [this, &run, is_followed](PlanOrder::Turn turn, int number, Bytes bytes, const Moment& ready,
                                              const PlanRun::Readiness& readiness, Ended ended) {
    if (is_followed) return transfer_kept(run, turn, number, bytes, ready, readiness, std::move(ended));
    transfer(run, turn, number, bytes, ready, nullptr, std::move(ended));
  };
  events.arrival = [this, &run](PlanOrder::Turn turn, int number, Bytes bytes, const Moment& at) {
    return arrival(run, turn, number, bytes, at);
  };
  events.notice = [this, &run](PlanOrder::Turn turn, const Moment& at) { return notice(run, turn, at); };
  events.ended = [this, ticket = movement.ticket](int lane, const Moment& end) { lane_ended(ticket, lane, end); };
  run.run = std::make_unique<PlanRun>(order_of(*run.collective), movement.bytes(), is_followed, std::move(events), clock_);
  return run;
}

bool MessageTransport::may_keep(const Plan& plan) const {
  if (!options_.log->is_open()) return false;
  double shown = 0.0;
  for (const PlanStep& step : plan.steps) {
    const auto* stage = std::get_if<Stage>(&step);
    if (stage == nullptr) continue;
    const auto senders = std::count_if(stage->messages.begin(), stage->messages.end(),
                                       [&](const Message& message) { return options_.log->is_shown(communicator_.rank(message.from)); });
    shown += static_cast<double>(senders) * stage->repeats * plan.segments(*stage);
  }
  return options_.log->begin(count_messages(plan), shown);
}

Why MessageTransport::why(PathClass kind, const Run& run, PlanOrder::Turn turn, Seconds usual) const {
  const Message& message = run.collective->plan().stage(turn.stage).messages[at(turn.message)];
  const Network& network = planned_.network();
  const int from = communicator_.rank(message.from);
  const int to = communicator_.rank(message.to);
  return {.kind = kind,
          .worker = to,
          .link = kind == PathClass::transfer ? network.narrowest_group(from, to) : network.group_between(from, to),
          .usual = usual,
          .payload = &run.movement.payload};
}

Moment MessageTransport::notice(const Run& run, PlanOrder::Turn turn, const Moment& now) const {
  const Message& message = run.collective->plan().stage(turn.stage).messages[at(turn.message)];
  const Seconds usual = flows_ == nullptr || !options_.changes
                            ? run.collective->way(turn.stage, turn.message).hop.latency
                            : latencies_.mean_at(communicator_.rank(message.from), communicator_.rank(message.to), now.time);
  const Moment end(now.time + run.latency_factor * usual);
  return now.cause ? until(now, end.time, why(PathClass::latency, run, turn, usual)) : end;
}

Seconds MessageTransport::latency(const Run& run, PlanOrder::Turn turn, int number) const {
  const Message& message = run.collective->plan().stage(turn.stage).messages[at(turn.message)];
  const int from = communicator_.rank(message.from);
  const int to = communicator_.rank(message.to);
  const MessageName name = {options_.stream, run.movement.ticket, static_cast<std::uint32_t>(turn.stage),
                            static_cast<std::uint32_t>(number)};
  if (flows_ != nullptr && options_.changes) return latencies_.at(from, to, name, clock_.now(), run.latency_factor);
  return latencies_(from, to, name, run.latency_factor * run.collective->way(turn.stage, turn.message).hop.latency);
}

Moment MessageTransport::arrival(const Run& run, PlanOrder::Turn turn, int number, Bytes bytes, const Moment& now) const {
  const Stage& stage = run.collective->plan().stage(turn.stage);
  const bool has_passed = flows_ != nullptr && flows_->take_latency();
  const Seconds latency = has_passed ? Seconds(0) : this->latency(run, turn, number);
  const Seconds reduction = stage.reduces ? planned_.gamma() * bytes : Seconds(0);
  // One sum, so that rounding is the same with and without recorded causes.
  const Seconds end = now.time + (latency + reduction);
  if (!now.cause) return Moment(end);
  const Message& message = stage.messages[at(turn.message)];
  const Seconds mean = flows_ != nullptr && options_.changes
                           ? latencies_.mean_at(communicator_.rank(message.from), communicator_.rank(message.to), clock_.now())
                           : run.collective->way(turn.stage, turn.message).hop.latency;
  const Moment arrived = after(now, std::min(latency, end - now.time), why(PathClass::latency, run, turn, mean));
  return until(arrived, end, why(reduction > Seconds(0) ? PathClass::reduce : PathClass::latency, run, turn));
}

const PlanOrder& MessageTransport::order_of(const PlannedCollective& collective) {
  const auto found = orders_.find(&collective);
  if (found != orders_.end()) return found->second;
  return orders_.try_emplace(&collective, lanes_ == 1 ? fold(collective.plan()) : collective.plan()).first->second;
}

int MessageTransport::narrowest_link(int from, int to) const {
  const Network& network = planned_.network();
  const std::vector<std::size_t>& links = planned_.network().path(from, to).links;
  const auto found = std::min_element(links.begin(), links.end(),
                                      [&](std::size_t a, std::size_t b) { return network.bandwidth(a) < network.bandwidth(b); });
  return found == links.end() ? -1 : static_cast<int>(*found);
}

void MessageTransport::transfer_kept(Run& run, PlanOrder::Turn turn, int number, Bytes bytes, const Moment& ready,
                                     const PlanRun::Readiness& readiness, Ended ended) {
  const Plan& plan = run.collective->plan();
  const Stage& stage = plan.stage(turn.stage);
  const Message& message = stage.messages[at(turn.message)];
  const Seconds alone = run.collective->way(turn.stage, turn.message).hop.beta * bytes;
  const int repeat = number / plan.segments(stage);
  const int turned = (message.part % plan.block + stage.shift * repeat) % plan.block;
  const CollectiveMessage kept = {.sender_ready = readiness.sender,
                                  .receiver_ready = readiness.receiver,
                                  .start = ready.time,
                                  .alone = alone,
                                  .bytes = bytes,
                                  .from = communicator_.rank(message.from),
                                  .to = communicator_.rank(message.to),
                                  .stream = static_cast<std::int32_t>(options_.stream),
                                  .number = static_cast<std::int32_t>(run.movement.ticket),
                                  .round = order_of(*run.collective).first_round[at(turn.stage)] + repeat,
                                  .part = message.part - message.part % plan.block + (turned + plan.block) % plan.block};
  const auto watched = std::make_shared<Watched>();
  const auto has_moved = [this, &run, turn, number, kept, watched, ended = std::move(ended)](const Moment& end) {
    CollectiveMessage moved = kept;
    if (channels_) moved.start = std::max(kept.start, end.time - kept.alone);  // its turn came then
    moved.moved = end.time;
    moved.arrived = arrival(run, turn, number, kept.bytes, Moment(end.time)).time;
    moved.link = watched->link;
    if (run.is_kept) options_.log->add(moved, watched->changes);
    if (run.messages) run.messages->push_back({moved, watched->changes});
    ended(end);
  };
  transfer(run, turn, number, bytes, ready, watched.get(), has_moved);
}

void MessageTransport::transfer(Run& run, PlanOrder::Turn turn, int number, Bytes bytes, const Moment& ready, Watched* watched,
                                Ended ended) {
  const PlannedCollective::Way& way = run.collective->way(turn.stage, turn.message);
  const Stage& stage = run.collective->plan().stage(turn.stage);
  const Message& message = stage.messages[at(turn.message)];
  const bool may_meet_others = !options_.shortcuts || !options_.is_alone || options_.overlaps || way.can_share;
  if (flows_ != nullptr && may_meet_others) {
    const Seconds latency = flows_->take_latency() ? this->latency(run, turn, number) : Seconds(0);
    return flows_->start({.network = &planned_.network(),
                          .from = communicator_.rank(message.from),
                          .to = communicator_.rank(message.to),
                          .bytes = bytes,
                          .latency = latency,
                          .payload = run.movement.payload,
                          .watched = watched},
                         ready, std::move(ended));
  }
  if (watched != nullptr) watched->link = narrowest_link(communicator_.rank(message.from), communicator_.rank(message.to));
  const Seconds duration = way.hop.beta * bytes;
  const Why reason = ready.cause ? why(PathClass::transfer, run, turn) : Why();
  if (channels_) {
    const auto port = [&](int rank) { return at(lanes_ == 1 ? 0 : rank) + (stage.inside ? at(lanes_) : 0); };
    return channels_->send(run.movement.ticket, port(message.from), port(message.to), ready, duration, reason, std::move(ended));
  }
  const Moment end = after(ready, duration, reason);
  clock_.at(end.time, [ended = std::move(ended), end] { ended(end); });
}

void MessageTransport::lane_ended(Ticket ticket, int lane, const Moment& now) {
  Run& run = runs_.at(ticket);
  if (!run.first_end) run.first_end = now.time;
  if (run.run->has_ended()) {
    if (run.equal_starts && *run.first_end >= now.time * (1.0 - rounding)) {
      const auto [known, is_new] = known_.try_emplace(known_by(run.movement));
      if (is_new) {
        known->second.length = now.time - run.first_start;
        known->second.messages = std::move(run.messages);
        known->second.start = run.first_start;
        if (now.cause) known->second.pieces = std::make_shared<const std::vector<PathPiece>>(trace_back(now, run.first_start));
      }
    }
    if (run.messages) known_messages_ -= static_cast<double>(run.messages->size());  // not known
    done_.push_back(std::move(run.run));
    runs_.erase(ticket);
    clock_.at(now.time, [this] { done_.clear(); });
  }
  ended(ticket, lane, now);
}

void MessageTransport::log_again(const Known& known, const Movement& movement, Seconds now) {
  const Plan& plan = planned_(movement.operation, communicator_, movement.bytes()).plan();
  if (!known.messages) return options_.log->close(count_messages(plan));
  if (!may_keep(plan)) return;
  const Seconds later = now - known.start;
  for (const LoggedMessage& logged : *known.messages) {
    CollectiveMessage message = logged.message;
    for (Seconds CollectiveMessage::*time : {&CollectiveMessage::sender_ready, &CollectiveMessage::receiver_ready,
                                             &CollectiveMessage::start, &CollectiveMessage::moved, &CollectiveMessage::arrived}) {
      message.*time += later;
    }
    message.number = static_cast<std::int32_t>(movement.ticket);
    std::vector<RateChange> changes = logged.changes;
    for (RateChange& change : changes) change.at += later;
    options_.log->add(message, changes);
  }
}

std::optional<Moment> MessageTransport::recall(const Movement& movement, const Moment& now) {
  if (!recalls() || !runs_.empty()) return std::nullopt;
  const auto known = known_.find(known_by(movement));
  if (known == known_.end() || known->second.length == Seconds(0)) return std::nullopt;
  if (options_.log != nullptr && lanes_ > 1) log_again(known->second, movement, now.time);
  return ended_as_before(now, now.time + known->second.length, known->second.pieces, movement.payload);
}

}  // namespace syncopate
