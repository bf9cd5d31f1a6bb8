#pragma once

#include <map>
#include <simgrid/s4u/Actor.hpp>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace syncopate {

/// Messages from worker to worker. Each worker has a link of its own to send them on, one at a time, in order; nothing
/// else shares it, so that an arrival is known when the message is sent.
class PeerLinks {
 public:
  struct Message {
    Seconds posted;
    Seconds start;    ///< when the sender's link takes it
    Seconds arrival;  ///< the link is free then, too
  };

  explicit PeerLinks(int workers) : free_(static_cast<std::size_t>(workers)), inboxes_(static_cast<std::size_t>(workers)) {}
  PeerLinks(const PeerLinks&) = delete;
  PeerLinks& operator=(const PeerLinks&) = delete;

  /// Sends the message of `round`, which its receiver tells it by and which takes `duration`.
  Message send(int from, int to, int round, Seconds duration, Seconds now);

  /// Blocks the calling actor until the message of `round` has been sent to `to`; returns it and forgets it.
  Message receive(int to, int round);

  bool is_busy(int worker, Seconds time) const { return free_[static_cast<std::size_t>(worker)] > time; }

  /// For a diagnosis: who waits for which round's message.
  std::string describe_waits() const;

 private:
  struct Inbox {
    std::map<int, Message> messages;  ///< by round
    int awaited_round = -1;
    simgrid::s4u::ActorPtr waiter;
  };

  std::vector<Seconds> free_;  ///< per sender
  std::vector<Inbox> inboxes_;
};

}  // namespace syncopate
