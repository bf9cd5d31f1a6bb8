#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/indexed.hpp"
#include "base/units.hpp"
#include "collective/closed_form.hpp"
#include "collective/payload.hpp"
#include "dataflow/values.hpp"
#include "engine/clock/clock.hpp"
#include "engine/network/flows.hpp"
#include "timeline/recorder.hpp"

namespace syncopate {

/// Messages from worker to worker. Each worker sends one at a time, in order: the next one when the one before has arrived. A message may
/// ask for an answer, which the receiver's link posts as soon as the question has arrived, whatever the receiver does. Answers to questions
/// that arrive at the same instant go in the order of who asked.
class PeerLinks {
 public:
  enum class Kind { plain, question, answer };
  /// What a message carries, for a record of the dataflow.
  struct Model {
    Values value{};
    double weight = 1.0;  ///< the model's, in a push-sum
  };
  struct Message {
    int from = 0;
    int to = 0;
    int round = 0;  ///< the receiver asks for it by this number
    SharedPayload payload;
    Moment posted;  ///< when the worker posted it; of an answer, its question
    int step = 0;   ///< the sender's last step whose gradient is in the model
    Kind kind = Kind::plain;
    Model model{};
    Seconds start{};  ///< when the sender's link takes it
    Moment arrival{};
  };
  /// The time of a message that has the network to itself.
  using Time = std::function<CollectiveTime(const Message&)>;
  using Latency = std::function<Seconds(const Message&)>;
  /// A worker takes in the model that a question brings, and answers with its own as it was before.
  using Answer = std::function<Values(int worker, const Model& brought)>;

  /// `flows`: moves the transfers; null where nothing else shares their links, so that an arrival is known when a message is sent.
  /// `workers`: if there is only one, it stands for all ranks. `step`: the step in which a worker is.
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

  /// The simulated worker that stands for a rank.
  int worker(int rank) const { return inboxes_.size() == 1 ? 0 : rank; }
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
  Indexed<Moment> free_;                 ///< by sender: when its link is free
  Indexed<std::deque<Message>> moving_;  ///< by sender, where messages are flows: the one that moves, and those that wait for it
  Indexed<Inbox> inboxes_;               ///< by receiver
  std::vector<Message> questions_;       ///< those that have arrived at this instant
};

}  // namespace syncopate
