#pragma once

#include <string>
#include <vector>

#include "run/setup.hpp"
#include "timeline/timeline.hpp"

namespace syncopate {

/// Something that a rank's program does.
struct Action {
  enum class Kind { compute, post, wait };
  Kind kind = Kind::compute;
  Seconds length{};             ///< of compute
  Phase phase = Phase::update;  ///< of compute
  std::string layer{};          ///< of compute; empty for what belongs to no layer
  std::size_t collective = 0;   ///< index of the collective that is posted or awaited
};

/// A collective that the ranks of a stream post.
struct PostedCollective {
  Operation operation = Operation::all_reduce;
  int stream = 0;
  SharedPayload payload;
};

/// One iteration (one cycle, of a schedule whose iterations are not alike) of a job that begins at rest: all ranks at time 0, with nothing
/// in flight.
struct Iteration {
  std::vector<Communicator> streams;  ///< the members of each stream, which does one collective after the other
  std::vector<PostedCollective> collectives;
  std::vector<std::vector<Action>> programs;  ///< by rank
  HostTime host;                              ///< of a rank, for each collective that it starts
  Seconds end;                                ///< when the last rank has ended it
  int steps = 1;                              ///< gradient steps of a rank
};

/// Simulates the iteration with every rank. Messages share links as flows, unless `as_planned`: then in the fidelity that a run takes.
/// Throws SimulationError, which says why, for a schedule that is more than collectives, and where one iteration alone does not say what is
/// waited for.
Iteration simulate_iteration(Setup& setup, bool as_planned);

}  // namespace syncopate
