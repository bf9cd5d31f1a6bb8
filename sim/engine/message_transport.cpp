#include "engine/message_transport.hpp"

#include <algorithm>
#include <utility>

namespace syncopate {

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace

MessageTransport::MessageTransport(int lanes, Communicator communicator, PlannedCollectives& planned, Flows* flows,
                                   LatencyFactor latency_factor, MessageLatency latency, const Options& options, Clock& clock)
    : lanes_(lanes),
      communicator_(std::move(communicator)),
      planned_(planned),
      flows_(flows),
      latency_factor_(std::move(latency_factor)),
      latency_(latency),
      options_(options),
      clock_(clock) {
  if (flows == nullptr && options.overlaps) channels_.emplace(2 * at(lanes), clock);
}

MessageTransport::~MessageTransport() = default;

std::optional<Seconds> MessageTransport::start(const Movement& movement, int lane, Seconds now) {
  Run& run = begin(movement, now);
  run.equal_starts = run.equal_starts && now <= run.first_start * (1.0 + rounding);
  run.run->start(lane, now);
  return std::nullopt;
}

MessageTransport::Run& MessageTransport::begin(const Movement& movement, Seconds now) {
  const auto [found, is_new] = runs_.try_emplace(movement.ticket);
  Run& run = found->second;
  if (!is_new) return run;
  run.collective = &planned_(movement.operation, communicator_, movement.bytes);
  run.movement = movement;
  run.latency_factor = latency_factor_(movement.ticket);
  run.first_start = now;
  PlanRun::Events events;
  events.transfer = [this, &run](PlanOrder::Turn turn, Bytes bytes, Seconds ready, std::function<void(Seconds)> ended) {
    transfer(run, turn, bytes, ready, std::move(ended));
  };
  events.latency = [this, &run](PlanOrder::Turn turn, int number, Bytes bytes) {
    const Seconds latency = latency_of(run, turn, number);
    return run.collective->plan().stage(turn.stage).reduces ? latency + planned_.gamma() * bytes : latency;
  };
  events.notice = [this, &run](PlanOrder::Turn turn, Seconds at) { return notice_of(run, turn, at); };
  events.ended = [this, ticket = movement.ticket](int lane, Seconds end) { lane_ended(ticket, lane, end); };
  run.run = std::make_unique<PlanRun>(order_of(*run.collective), movement.bytes, std::move(events), clock_);
  return run;
}

Seconds MessageTransport::notice_of(const Run& run, PlanOrder::Turn turn, Seconds time) const {
  const Message& message = run.collective->plan().stage(turn.stage).messages[at(turn.message)];
  if (flows_ == nullptr || !options_.changes) return run.latency_factor * run.collective->way(turn.stage, turn.message).hop.latency;
  return run.latency_factor * latency_.mean_at(communicator_.rank(message.from), communicator_.rank(message.to), time);
}

Seconds MessageTransport::latency_of(const Run& run, PlanOrder::Turn turn, int number) const {
  const Message& message = run.collective->plan().stage(turn.stage).messages[at(turn.message)];
  const int from = communicator_.rank(message.from);
  const int to = communicator_.rank(message.to);
  const MessageName name = {options_.stream, run.movement.ticket, static_cast<std::uint32_t>(turn.stage),
                            static_cast<std::uint32_t>(number)};
  if (flows_ != nullptr && options_.changes) return latency_.at(from, to, name, clock_.now(), run.latency_factor);
  return latency_(from, to, name, run.latency_factor * run.collective->way(turn.stage, turn.message).hop.latency);
}

const PlanOrder& MessageTransport::order_of(const PlannedCollective& collective) {
  const auto found = orders_.find(&collective);
  if (found != orders_.end()) return found->second;
  return orders_.try_emplace(&collective, lanes_ == 1 ? fold(collective.plan()) : collective.plan()).first->second;
}

void MessageTransport::transfer(Run& run, PlanOrder::Turn turn, Bytes bytes, Seconds ready, std::function<void(Seconds)> ended) {
  const PlannedCollective::Way& way = run.collective->way(turn.stage, turn.message);
  const Stage& stage = run.collective->plan().stage(turn.stage);
  const Message& message = stage.messages[at(turn.message)];
  const bool may_meet_others = !options_.shortcuts || !options_.is_alone || options_.overlaps || way.can_share;
  if (flows_ != nullptr && may_meet_others) {
    return flows_->start(communicator_.rank(message.from), communicator_.rank(message.to), bytes, ready, std::move(ended));
  }
  const Seconds duration = way.hop.beta * bytes;
  if (channels_) {
    const auto port = [&](int rank) { return at(lanes_ == 1 ? 0 : rank) + (stage.inside ? at(lanes_) : 0); };
    return channels_->send(run.movement.ticket, port(message.from), port(message.to), ready, duration, std::move(ended));
  }
  const Seconds end = ready + duration;
  clock_.at(end, [ended = std::move(ended), end] { ended(end); });
}

void MessageTransport::lane_ended(Ticket ticket, int lane, Seconds now) {
  Run& run = runs_.at(ticket);
  if (!run.first_end) run.first_end = now;
  if (run.run->has_ended()) {
    if (run.equal_starts && *run.first_end >= now * (1.0 - rounding)) {
      known_.try_emplace({run.movement.operation, run.movement.bytes, run.latency_factor}, now - run.first_start);
    }
    done_.push_back(std::move(run.run));
    runs_.erase(ticket);
    clock_.at(now, [this] { done_.clear(); });
  }
  ended(ticket, lane, now);
}

std::optional<Seconds> MessageTransport::recall(const Movement& movement) {
  if (!options_.shortcuts || !options_.is_alone || options_.overlaps || !runs_.empty()) return std::nullopt;
  const auto known = known_.find({movement.operation, movement.bytes, latency_factor_(movement.ticket)});
  if (known == known_.end() || known->second == Seconds(0)) return std::nullopt;
  return known->second;
}

}  // namespace syncopate
