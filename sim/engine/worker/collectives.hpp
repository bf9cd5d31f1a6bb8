#pragma once

#include <optional>
#include <span>
#include <vector>

#include "collective/communicator.hpp"
#include "collective/payload.hpp"
#include "dataflow/values.hpp"
#include "engine/streams/admission.hpp"
#include "engine/worker/worker_state.hpp"
#include "timeline/timeline.hpp"

namespace syncopate {

class Stream;
struct Post;

/// Names a posted collective.
struct Handle {
  int stream = 0;
  Ticket ticket = 0;
};

/// What a post may say besides its payload.
struct PostOptions {
  Operation operation = Operation::all_reduce;
  double priority = 0.0;  ///< lower first, where the stream's rules are by priority
  int stream = 0;         ///< row of the job's streams; the post goes to the stream of the worker's group in that row
  Values value{};         ///< what the post carries, for a record of the dataflow
  /// The post counts once that collective has ended for the rank, and carries its mean. A stream with such posts takes no others, and its
  /// `StreamTraffic` says that it follows.
  std::optional<Handle> after{};
  Seconds delay{};  ///< the post counts so much later, while the worker goes on; not where a share of the ranks is enough
};

/// A worker's collectives. A worker hands them to streams (engine/streams) and goes on; `wait` blocks. Every rank of a stream's
/// communicator posts the same collectives in the same order. A payload is the whole vector, over all members of the communicator.
class Collectives {
 public:
  /// `streams`: for each row of the job's streams, the one of the worker's group.
  Collectives(WorkerState& worker, std::vector<Stream*> streams);

  /// The worker's group in that row of the job's streams.
  const Communicator& group(int row) const;

  /// Hands a collective to a stream; does not block. `round`: the step or round that it belongs to. Throws SimulationError when it
  /// disagrees with what another rank has posted.
  Handle post(const SharedPayload& payload, int round, const PostOptions& options = PostOptions());
  /// Whether the collective has ended by now; one that ends just now has.
  bool has_ended(Handle handle);
  /// Blocks until the collective has ended.
  void wait(Handle handle);
  /// Blocks until all of them have ended.
  void wait(std::span<const Handle> handles);

  /// The mean of what ranks have posted for a collective that has ended; each rank gets it once. Empty without a record of the dataflow.
  Values mean_of(Handle handle) const;
  /// The means of all of them, part after part.
  Values mean_of(std::span<const Handle> handles) const;

  // For collectives with a deadline:

  /// Whether the next collective in that row has started without this rank, so that the rank's next post takes over its result.
  bool has_missed(int row) const;
  /// Whether another worker has posted the next collective by now, or this one has missed it.
  bool is_expected(int row) const;

 private:
  /// Throws SimulationError when the job has no such row.
  Stream& stream(int row) const;
  /// When a post of now counts, so much later.
  Moment counts_at(const SharedPayload& payload, Seconds delay) const;
  Handle post_after(Handle before, Stream& stream, const Post& post, const PostOptions& options);
  /// Records where the program met a collective.
  void tie(Handle handle, Tie tie) const;

  WorkerState& worker_;
  std::vector<Stream*> streams_;
  std::vector<Ticket> following_;  ///< by row: posts that follow other collectives
};

}  // namespace syncopate
