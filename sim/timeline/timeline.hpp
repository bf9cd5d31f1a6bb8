#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "collective/communicator.hpp"
#include "collective/payload.hpp"

namespace syncopate {

/// A stretch of time.
struct Interval {
  Seconds start;
  Seconds end;
};

/// What a worker is doing. `blocked`: waiting for a collective or a server, whether or not bytes move yet; `waiting`: for a
/// rank that has not sent; `communicating`: held up by what bytes of its own do, such as the reduction among its GPUs.
enum class Phase : std::uint8_t { forward, backward, update, blocked, waiting, communicating };

inline bool is_compute(Phase phase) { return phase == Phase::forward || phase == Phase::backward || phase == Phase::update; }

/// One phase of one worker. A worker's spans follow each other without gap or overlap. Where a timeline does not show the
/// worker, successive spans of compute are one, named after the first of them.
struct Span {
  Seconds start;
  Seconds end{};
  std::int32_t step = 0;
  Phase phase = Phase::forward;
};

/// One layer of one phase; kept only for the workers that a timeline shows.
struct LayerSpan {
  Seconds start;
  Seconds end{};
  std::int32_t worker = 0;
  std::int32_t step = 0;
  std::int32_t layer = 0;
  Phase phase = Phase::forward;
};

/// One collective while its bytes move: from the start of its transfer (its last rank had posted and the channel was
/// free) to its end.
struct CollectiveSpan {
  Seconds start;
  Seconds end{};
  std::int32_t stream = 0;
  std::int32_t round = 0;  ///< the step, or round, that posted it
  SharedPayload payload;
  Seconds ready{};  ///< its last rank had posted it; it may have queued since
  Operation operation = Operation::all_reduce;
  bool is_cut_off = false;  ///< by the end of the run, which is its `end`
  std::int32_t number = 0;  ///< of its stream's collectives, in the order of posting
};

/// Where a worker's program met a collective: it posted it, or found that it had ended.
struct Tie {
  Seconds before;           ///< the worker came there ...
  Seconds after;            ///< ... and went on: of a post, then too
  Seconds ended{};          ///< the collective, for the worker; 0: before, and nobody knows when; of a post, nothing
  Seconds delay{};          ///< of a post: it counts as posted so much later
  std::int32_t stream = 0;  ///< the collective is of that stream ...
  std::int32_t number = 0;  ///< ... and has that number there
  bool posts = false;
};

/// A message between two ends of one worker's channel, kept only for the workers that a timeline shows.
struct TransferSpan {
  /// The last three move within the node: an all-reduce or its halves, the sum of what is pushed and what all GPUs get.
  enum class Kind : std::uint8_t { push, pull, send, within_node, gather, spread };
  static constexpr std::size_t kinds = 6;
  Seconds start;
  Seconds end{};
  std::int32_t worker = 0;
  std::int32_t round = 0;
  Kind kind = Kind::push;
  SharedPayload payload;
  std::int32_t to = -1;  ///< of Kind::send: its receiver
};

/// Bytes that a worker sends to another one, or pushes to its parameter servers or pulls from them, evenly from all. Kept, of all simulated
/// workers, only where a job says so.
struct MessageSpan {
  Interval moving;
  std::int32_t worker = 0;
  std::int32_t to = -1;  ///< of Kind::send: its receiver
  TransferSpan::Kind kind = TransferSpan::Kind::push;
  Bytes bytes;
};

/// What moved between a client and its parameter servers in the measured window.
struct ServerTraffic {
  Bytes pushed;
  Bytes pulled;
};

/// Why time passes on the critical path of a run.
enum class PathClass : std::uint8_t {
  forward,
  backward,
  update,
  compression,  ///< also what merges gradients
  latency,
  transfer,
  reduce,
  host,       ///< what a rank's host does for a collective
  server,     ///< a parameter server's work
  queue,      ///< others' bytes before a parameter server's link, or on it
  straggler,  ///< a worker that is always slower: what it takes longer
  jitter,     ///< what a worker's step, or a latency, takes longer than it does on average; or less, below 0
  overlap,    ///< layers that are slowed down by what moves
  pause,
};

/// A piece of the critical path.
struct PathPiece {
  Seconds length;
  PathClass kind = PathClass::forward;
  std::int32_t worker = -1;  ///< of what a worker does, or is held up by
  std::int32_t layer = -1;   ///< of forward and backward, the network's layer
  std::int32_t link = -1;    ///< of latency and transfer, a group of the network's links (Network::group)
  SharedPayload payload{};   ///< that moves
};

/// One gradient step of one worker, from its start to the next step's start.
struct Step {
  Seconds start;
  Seconds end{};
  int posts = 0;           ///< collectives, pushes, pulls and messages posted in it
  Bytes bytes{};           ///< payload of those posts
  Bytes sent{};            ///< what a rank of a ring sends for them (sent_in_ring)
  int updates = 0;         ///< updates in it that were formed from gradients of others
  double staleness = 0.0;  ///< sum over those updates, in steps
  double staleness_max = 0.0;
  double entered = 1.0;  ///< share of its gradients that the model got: others came too late (ServerSetup::backup)
  int mixed_after =
      0;  ///< > 0: at its end an all-reduce's result was mixed in, which took so many steps; one more if the worker waited for it
};

/// The measured window: opens when the last worker leaves its warm-up, closes when the first has done its measured
/// steps after that.
struct Window {
  Seconds open;
  Seconds close;
  bool has_opened = false;

  /// The share of the interval that lies in the window; of one without length, whether it begins there.
  double share(const Interval& interval) const;
};

/// What happened to one job. Everything that a report says is derived from this.
struct JobTimeline {
  int workers = 0;  ///< of the job; a simulated worker may stand for several or for all of them
  Seconds compute;  ///< undisturbed forward + backward + update of one step
  Window window;
  std::vector<std::vector<Step>> steps;         ///< per simulated worker, complete steps only
  std::vector<std::vector<Span>> spans;         ///< per simulated worker
  std::vector<std::vector<Interval>> absences;  ///< per simulated worker, when it was not there: until the window's close at most
  std::vector<LayerSpan> layers;
  std::vector<Communicator> streams;            ///< whose collectives went over each stream
  std::vector<CollectiveSpan> collectives;      ///< in the order in which they started
  std::vector<std::vector<Tie>> ties;           ///< per simulated worker, in its program's order; empty where they are not kept
  std::vector<int> in_flight;                   ///< by stream, how many of its collectives at most
  Seconds per_collective;                       ///< of a worker's host, for each that it posts
  std::vector<std::vector<Interval>> channels;  ///< per simulated worker: its own transfers, which others take no part in
  bool serves = false;                          ///< the channels' other ends are parameter servers
  std::vector<Interval> server_work;            ///< they work
  std::vector<TransferSpan> transfers;
  std::vector<MessageSpan> messages;
  std::vector<ServerTraffic> server_traffic;          ///< per simulated worker; empty without servers
  std::map<std::pair<int, int>, Bytes> peer_traffic;  ///< between workers in the measured window, but for collectives
  Bytes held_at_most;                                 ///< of others' parameters, by the worker that held most
  std::vector<PathPiece> critical_path;  ///< what decided when the window closed, from its opening on; empty where causes are not recorded
};

/// One entry per job.
using Timeline = std::vector<JobTimeline>;

}  // namespace syncopate
