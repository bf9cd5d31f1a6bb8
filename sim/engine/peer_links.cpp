#include "engine/peer_links.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace syncopate {

PeerLinks::Message PeerLinks::send(int from, int to, int round, Seconds duration, Seconds now) {
  Seconds& free = free_[static_cast<std::size_t>(from)];
  const Seconds start = std::max(now, free);
  free = start + duration;
  Inbox& inbox = inboxes_[static_cast<std::size_t>(to)];
  const Message message = {now, start, free};
  inbox.messages[round] = message;
  if (inbox.waiter && inbox.awaited_round == round) {
    inbox.waiter->resume();
    inbox.waiter = nullptr;
  }
  return message;
}

PeerLinks::Message PeerLinks::receive(int to, int round) {
  Inbox& inbox = inboxes_[static_cast<std::size_t>(to)];
  if (!inbox.messages.contains(round)) {
    inbox.awaited_round = round;
    inbox.waiter = simgrid::s4u::Actor::self();
    simgrid::s4u::this_actor::suspend();
  }
  return inbox.messages.extract(round).mapped();
}

std::string PeerLinks::describe_waits() const {
  std::string text;
  for (std::size_t worker = 0; worker < inboxes_.size(); ++worker) {
    if (!inboxes_[worker].waiter) continue;
    text += fmt::format("{}rank {} waits for the message of round {}", text.empty() ? "" : "; ", worker, inboxes_[worker].awaited_round);
  }
  return text;
}

}  // namespace syncopate
