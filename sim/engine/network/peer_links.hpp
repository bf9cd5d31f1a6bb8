#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "collective/closed_form.hpp"
#include "collective/payload.hpp"
#include "dataflow/values.hpp"
#include "engine/clock/clock.hpp"
#include "engine/network/flows.hpp"
#include "timeline/recorder.hpp"

namespace syncopate {

/// Messages from worker to worker. Each worker sends them one at a time, in order: the next one when the one before has arrived. A message
/// may ask for an answer, which is posted as soon as it has arrived, whatever its receiver does; those of one instant in the order of
/// who asked.
class PeerLinks {
 public:
  enum class Kind { plain, question, answer };
  /// What a message carries, for a record of the dataflow.
  struct Model {
    Values value{};
    double weight = 1.0;  ///< of that in a push-sum
  };
  struct Message {
    int from = 0;
    int to = 0;
    int round = 0;  ///< its receiver tells it by this
    SharedPayload payload;
    Moment posted;  ///< by a worker: an answer with its question
    int step = 0;   ///< its sender's last one whose gradient is in what it sends
    Kind kind = Kind::plain;
    Model model{};
    Seconds start{};  ///< when the sender's link takes it
    Moment arrival{};
  };
  /// Of a message that has the network for itself.
  using Time = std::function<CollectiveTime(const Message&)>;
  using Latency = std::function<Seconds(const Message&)>;
  /// A worker takes in the model that a question brings, and answers with its own as it was before.
  using Answer = std::function<Values(int worker, const Model& brought)>;

  /// `flows`: moves the transfers; null where nothing else shares their links, so that an arrival is known when a message is sent.
  /// A worker stands for all ranks if there is only one. `step`: in which a worker is.
  PeerLinks(int workers, Time time, Latency mean_latency, Network& network, Flows* flows, std::function<int(int worker)> step,
            Answer answer, Recorder& recorder, Clock& clock);
  PeerLinks(const PeerLinks&) = delete;
  PeerLinks& operator=(const PeerLinks&) = delete;

  /// Hands a message to its sender's link at its time of posting.
  void send(Message message);

  /// Blocks the calling actor until the message of `round` has been sent to `to` and its arrival is known; returns it and forgets it.
  Message receive(int to, int round);

  bool is_busy(int rank, Seconds time) const;

  /// At the end of the run: records the messages under way.
  void cut_off();

  /// For a diagnosis: who waits for which round's message.
  std::string describe_waits() const;

 private:
  struct Inbox {
    std::map<int, Message> messages;  ///< by round
    int awaited_round = -1;
    Completion* waiter = nullptr;
  };

  std::size_t worker(int rank) const { return inboxes_.size() == 1 ? 0 : static_cast<std::size_t>(rank); }
  void queue(Message message, const Moment& at);
  void move_next(int from, const Moment& now);
  Why why(PathClass kind, const Message& message) const;
  void deliver(const Message& message);
  void answer();

  Time time_;
  Latency mean_latency_;
  Network& network_;
  Flows* flows_;
  std::function<int(int)> step_;
  Answer answer_;
  Recorder& recorder_;
  Clock& clock_;
  std::vector<Moment> free_;                 ///< by sender
  std::vector<std::deque<Message>> moving_;  ///< by sender, as flows
  std::vector<Inbox> inboxes_;
  std::vector<Message> questions_;  ///< that have arrived at this instant
};

}  // namespace syncopate
