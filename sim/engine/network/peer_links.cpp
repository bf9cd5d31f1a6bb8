#include "engine/network/peer_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/errors.hpp"

namespace syncopate {

PeerLinks::PeerLinks(int workers, Time time, Latency mean_latency, Network& network, Flows* flows, std::function<int(int)> step,
                     Answer answer, Recorder& recorder, Clock& clock)
    : time_(std::move(time)),
      mean_latency_(std::move(mean_latency)),
      network_(network),
      flows_(flows),
      step_(std::move(step)),
      answer_(std::move(answer)),
      recorder_(recorder),
      clock_(clock),
      free_(workers),
      moving_(workers),
      inboxes_(workers) {}

void PeerLinks::send(Message message) {
  const int from = message.from;
  if (message.to < 0 || (message.to >= static_cast<int>(inboxes_.size()) && inboxes_.size() > 1)) {
    throw SimulationError(fmt::format("rank {} sends to rank {}, which does not exist", from, message.to));
  }
  const Moment posted = message.posted;
  queue(std::move(message), posted);
}

Why PeerLinks::why(PathClass kind, const Message& message) const {
  return {.kind = kind,
          .worker = message.to,
          .link = kind == PathClass::transfer ? network_.narrowest_group(message.from, message.to)
                                              : network_.group_between(message.from, message.to),
          .usual = kind == PathClass::latency ? mean_latency_(message) : Seconds(0),
          .payload = &message.payload};
}

void PeerLinks::queue(Message message, const Moment& at) {
  const int from = message.from;
  if (flows_ == nullptr) {
    Moment& free = free_[worker(from)];
    const Moment start = latest(at, free);
    message.start = start.time;
    const CollectiveTime time = time_(message);
    const Seconds end = start.time + time.total();
    free = start.cause ? until(after(start, time.latency, why(PathClass::latency, message)), end, why(PathClass::transfer, message))
                       : Moment(end);
    message.arrival = free;
    deliver(message);
    return;
  }
  std::deque<Message>& queue = moving_[worker(from)];
  message.start = Seconds(std::numeric_limits<double>::infinity());  // has not begun
  queue.push_back(std::move(message));
  if (queue.size() == 1) clock_.at(at.time, [this, from, at] { move_next(from, at); });
}

void PeerLinks::move_next(int from, const Moment& now) {
  Message& message = moving_[worker(from)].front();
  message.start = now.time;
  const Seconds latency = flows_->take_latency() ? time_(message).latency : Seconds(0);
  const Transfer transfer = {&network_, from, message.to, message.payload->bytes, latency, message.payload};
  flows_->start(transfer, now, [this, from](const Moment& transferred) {
    const Message& moved = moving_[worker(from)].front();
    const Moment arrival = flows_->take_latency()
                               ? transferred
                               : after(transferred, time_(moved).latency, transferred.cause ? why(PathClass::latency, moved) : Why());
    clock_.at(arrival.time, [this, from, arrival] {
      std::deque<Message>& queue = moving_[worker(from)];
      queue.front().arrival = arrival;
      deliver(queue.front());
      queue.pop_front();
      if (!queue.empty()) move_next(from, arrival);
    });
  });
}

void PeerLinks::deliver(const Message& message) {
  recorder_.transfer(message.from, TransferSpan::Kind::send, message.round, {message.start, message.arrival.time}, message.payload,
                     message.to);
  if (message.kind == Kind::question) {
    clock_.at(message.arrival.time, [this, message] {
      questions_.push_back(message);
      if (questions_.size() == 1) clock_.at(message.arrival.time * (1.0 + rounding), [this] { answer(); });
    });
    return;
  }
  Inbox& inbox = inboxes_[worker(message.to)];
  if (!inbox.messages.try_emplace(message.round, message).second) {
    throw SimulationError(
        fmt::format("rank {} gets two messages of round {}, the second from rank {}; every rank gets one message per round", message.to,
                    message.round, message.from));
  }
  if (inbox.waiter != nullptr && inbox.awaited_round == message.round) {
    std::exchange(inbox.waiter, nullptr)->complete(message.arrival);
  }
}

void PeerLinks::answer() {
  std::vector<Message> questions = std::move(questions_);
  questions_.clear();
  std::sort(questions.begin(), questions.end(), [](const Message& a, const Message& b) { return a.from < b.from; });
  for (const Message& question : questions) {
    queue({.from = question.to,
           .to = question.from,
           .round = question.round,
           .payload = question.payload,
           .posted = question.posted,
           .step = step_(question.to) - 1,
           .kind = Kind::answer,
           .model = {.value = answer_(question.to, question.model)}},
          question.arrival);
  }
}

PeerLinks::Message PeerLinks::receive(int to, int round) {
  Inbox& inbox = inboxes_[worker(to)];
  if (!inbox.messages.contains(round)) {
    Completion completion(clock_);
    inbox.awaited_round = round;
    inbox.waiter = &completion;
    completion.wait();
  }
  return inbox.messages.extract(round).mapped();
}

bool PeerLinks::is_busy(int rank, Seconds time) const { return free_[worker(rank)].time > time || !moving_[worker(rank)].empty(); }

void PeerLinks::cut_off() {
  for (const std::deque<Message>& queue : moving_) {
    if (queue.empty() || queue.front().start > clock_.now()) continue;
    const Message& message = queue.front();
    recorder_.cut_off(message.from, TransferSpan::Kind::send, {message.start, clock_.now()});
    const Seconds end = std::max(clock_.now(), message.start + time_(message).total());
    recorder_.send(message.from, message.to, {message.start, end}, message.payload->bytes);
  }
}

std::string PeerLinks::describe_waits() const {
  std::string text;
  for (std::size_t worker = 0; worker < inboxes_.size(); ++worker) {
    if (inboxes_[worker].waiter == nullptr) continue;
    text += fmt::format("{}rank {} waits for the message of round {}", text.empty() ? "" : "; ", worker, inboxes_[worker].awaited_round);
  }
  return text;
}

}  // namespace syncopate
