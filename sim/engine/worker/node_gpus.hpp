#pragma once

#include "collective/payload.hpp"
#include "engine/worker/worker_state.hpp"

namespace syncopate {

/// The GPUs of a node that are one worker. What they send to each other takes time beside the worker, which goes on; with a single GPU it
/// takes none.
class NodeGpus {
 public:
  explicit NodeGpus(WorkerState& worker) : worker_(worker) {}

  /// The GPUs all-reduce gradients from `start` on; returns the end.
  Seconds all_reduce(const SharedPayload& payload, Seconds start);
  /// One GPU sends to all others from `start` on; returns the end.
  Seconds spread(const SharedPayload& payload, Seconds start);
  /// Blocks the worker until such an `end`.
  void wait_until(Seconds end);

 private:
  WorkerState& worker_;
};

}  // namespace syncopate
