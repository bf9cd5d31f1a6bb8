#pragma once

#include "collective/payload.hpp"
#include "dataflow/values.hpp"
#include "engine/worker/worker_state.hpp"

namespace syncopate {

/// What another worker has sent.
struct Received {
  int step = 0;         ///< the sender's last step whose gradient is in the model
  Values model{};       ///< empty without a record of the dataflow
  double weight = 1.0;  ///< the model's, in a push-sum
};

/// Messages from worker to worker, over the sender's own link, one after the other (engine/network/peer_links). A round is at most one
/// message to each worker: the receiver asks for it by that number.
class Peers {
 public:
  explicit Peers(WorkerState& worker) : worker_(worker) {}

  /// Sends a message to rank `to`; does not block.
  void send(const SharedPayload& payload, int to, int round, const Values& model = Values(), double weight = 1.0);
  /// Sends `model` to rank `with`, whose link sends as much back as soon as it has arrived, whatever that worker does: its model as it is
  /// then. That worker's model becomes the mean of both. Does not block; the answer is received as the message of that round.
  void exchange(const SharedPayload& payload, int with, int round, const Values& model = Values());
  /// Blocks until the message of that round, or the answer, has arrived.
  Received receive(int round);

 private:
  WorkerState& worker_;
};

}  // namespace syncopate
