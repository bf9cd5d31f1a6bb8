#pragma once

#include <span>
#include <vector>

#include "collective/payload.hpp"
#include "engine/servers/exchange.hpp"
#include "engine/worker/worker_state.hpp"

namespace syncopate {

/// What a worker exchanges with the job's parameter servers (engine/servers). It hands messages over and goes on; `wait` blocks. Throws
/// SimulationError where the job has no servers.
class Servers {
 public:
  explicit Servers(WorkerState& worker) : worker_(worker) {}

  /// Pushes to the servers, and pulls as `answer` says.
  Exchange push(const SharedPayload& payload, int round, Answer answer, const PushOptions& options = PushOptions());
  /// Asks the servers for parameters. `as_pulled`: what moves for them; null: the payload itself.
  Exchange pull(const SharedPayload& payload, int round, const SharedPayload& as_pulled = nullptr);
  /// Blocks until the pull is in or, where there is none, until the servers have handled the push. Returns when that was, if the end has
  /// been kept (PushOptions::keep_end).
  Seconds wait(Exchange exchange);
  void wait(std::span<const Exchange> exchanges);
  /// The servers' model, as it came with a pull that has been waited for; once. Empty without a record of the dataflow.
  Values pulled_by(Exchange exchange) const;
  /// The same of all of them, part after part.
  Values pulled_by(std::span<const Exchange> exchanges) const;

  // For synchronous steps that do not wait for all workers (ServerSetup::backup):

  /// The worker will pull the sum of all workers' pushes, once the servers have handled those of all workers but the backups.
  Exchange join(const SharedPayload& payload, int round, const PushOptions& options);
  /// Pushes to a sum that the worker has joined and not pulled yet. `share`: of the step's gradients. The servers drop what comes too late.
  void contribute(Exchange joined, double share, const PushOptions& options);
  /// Once all of these sums are in, the worker gives up what is left of this step's compute.
  void give_up_when_in(std::span<const Exchange> joined);
  /// Whether the worker has given up this step.
  bool has_given_up() const { return has_given_up_; }

 private:
  friend class Worker;

  void begin_step();
  /// Whether the worker, which computes until `end`, gives up its step before that; then its own time is when it does.
  bool gives_up_before(const Moment& end);

  WorkerState& worker_;
  std::vector<Exchange> joined_;  ///< the step is given up when they are in
  bool has_given_up_ = false;
};

}  // namespace syncopate
