#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/interval_union.hpp"
#include "base/units.hpp"
#include "collective/communicator.hpp"
#include "collective/payload.hpp"

namespace syncopate {

/// The state of a worker. `blocked`: waits for a collective or a server. `waiting`: waits for another rank to send. `communicating`: held
/// up by moving its own bytes, such as the reduction among its GPUs.
enum class Phase : std::uint8_t { forward, backward, update, blocked, waiting, communicating };

inline bool is_compute(Phase phase) { return phase == Phase::forward || phase == Phase::backward || phase == Phase::update; }

/// One phase of a worker. A worker's spans are contiguous. If the worker is not shown, consecutive compute phases are one span with the
/// first one's phase.
struct Span {
  Seconds start;
  Seconds end{};
  std::int32_t step = 0;
  Phase phase = Phase::forward;
};

/// One layer of one phase. Only kept for shown workers.
struct LayerSpan {
  Seconds start;
  Seconds end{};
  std::int32_t worker = 0;
  std::int32_t step = 0;
  std::int32_t layer = 0;
  Phase phase = Phase::forward;
};

/// One collective from the start of its transfer to its end. The transfer starts when the last rank has posted it and the channel is free.
struct CollectiveSpan {
  Seconds start;
  Seconds end{};
  std::int32_t stream = 0;
  std::int32_t round = 0;  ///< the step or round that posted it
  SharedPayload payload;
  Seconds ready{};  ///< when the last rank had posted it; it may have queued after that
  Operation operation = Operation::all_reduce;
  bool is_cut_off = false;  ///< the run ended first; `end` is the end of the run
  std::int32_t number = 0;  ///< in the order of posting, within its stream
};

/// A worker's program posted a collective, or met the end of one.
struct Tie {
  Seconds before;           ///< when the worker got there
  Seconds after;            ///< when the worker went on; for a post: when it posted
  Seconds ended{};          ///< when the collective ended for the worker; 0: earlier, time unknown; unused for a post
  Seconds delay{};          ///< for a post: it counts as posted this much later
  std::int32_t stream = 0;  ///< the collective's stream
  std::int32_t number = 0;  ///< the collective's number in its stream
  bool posts = false;
};

/// A message on a worker's channel. Only kept for shown workers.
struct TransferSpan {
  /// The last three move within the node. within_node: an all-reduce or one of its halves; gather: sums what the node pushes; spread:
  /// distributes a pull to all GPUs.
  enum class Kind : std::uint8_t { push, pull, send, within_node, gather, spread };
  static constexpr std::size_t kinds = 6;
  Seconds start;
  Seconds end{};
  std::int32_t worker = 0;
  std::int32_t round = 0;
  Kind kind = Kind::push;
  SharedPayload payload;
  std::int32_t to = -1;  ///< receiver, for Kind::send
};

/// Bytes from a worker to another one, or between a worker and all its parameter servers evenly. Only kept on request, then for all
/// simulated workers.
struct MessageSpan {
  Interval moving;
  std::int32_t worker = 0;
  std::int32_t to = -1;  ///< receiver, for Kind::send
  TransferSpan::Kind kind = TransferSpan::Kind::push;
  Bytes bytes;
};

/// A message of a collective, or a segment of one. Only kept on request, then those of all ranks (see MessageLog).
struct CollectiveMessage {
  Seconds sender_ready{};    ///< its sender has what it carries, and has sent what comes before it
  Seconds receiver_ready{};  ///< its receiver takes part, and has received what comes before it
  Seconds start{};           ///< its bytes begin to move
  Seconds moved{};           ///< its bytes have moved: its sender may send the next message
  Seconds arrived{};         ///< its receiver has them, and has added them to its own where it does that
  Seconds alone{};           ///< how long its bytes would move if nothing else did
  Bytes bytes{};
  std::int32_t from = 0;         ///< rank
  std::int32_t to = 0;           ///< rank
  std::int32_t stream = 0;       ///< of its collective
  std::int32_t number = 0;       ///< of its collective within the stream
  std::int32_t round = 0;        ///< of its collective's plan: stages and their repeats, counted from 0
  std::int32_t part = 0;         ///< of the vector, the first one that it carries; see Plan
  std::int32_t link = -1;        ///< of the network: the one that held it back when it was slowest; -1: not known
  std::size_t first_change = 0;  ///< in JobTimeline::rate_changes
  std::int32_t changes = 0;      ///< of its rate
};

/// The rate of a message changes.
struct RateChange {
  Seconds at;
  double moved = 0.0;  ///< the share of its bytes that has moved by then
};

/// Bytes between a client and its parameter servers in the measured window.
struct ServerTraffic {
  Bytes pushed;
  Bytes pulled;
};

/// Causes of time on the critical path of a run.
enum class PathClass : std::uint8_t {
  forward,
  backward,
  update,
  compression,  ///< also merging of gradients
  latency,
  transfer,
  reduce,
  host,       ///< a rank's host handles a collective
  server,     ///< a parameter server handles a message
  queue,      ///< bytes of others at or on a parameter server's link
  straggler,  ///< extra time of a worker that is always slower
  jitter,     ///< extra time of a step or latency over its mean; may be negative
  overlap,    ///< slowdown of layers by communication
  pause,
};

/// A piece of the critical path.
struct PathPiece {
  Seconds length;
  PathClass kind = PathClass::forward;
  std::int32_t worker = -1;  ///< the worker that acts or is held up; -1: none
  std::int32_t layer = -1;   ///< for forward and backward: the network's layer
  std::int32_t link = -1;    ///< for latency and transfer: a group of links (Network::group)
  SharedPayload payload{};   ///< what moves
};

/// One gradient step of a worker, from its start to the start of the next step.
struct Step {
  Seconds start;
  Seconds end{};
  int posts = 0;           ///< collectives, pushes, pulls and messages posted
  Bytes bytes{};           ///< payload of those posts
  Bytes sent{};            ///< bytes a ring's rank sends for them (sent_in_ring)
  int updates = 0;         ///< updates from other workers' gradients
  double staleness = 0.0;  ///< sum over these updates, in steps
  double staleness_max = 0.0;
  double entered = 1.0;  ///< share of its gradients that entered the model; the rest was too late (ServerSetup::backup)
  /// > 0: an all-reduce's result was mixed in at the end of the step, this many steps after it was posted. One more if the worker
  /// waited for it.
  int mixed_after = 0;
};

/// Whether a worker's next span makes one with its last one. `entered`: of the gradients of their steps (Step). A step whose gradients do
/// not all enter a model has spans of its own.
inline bool continues(const Span& last, const Span& next, double entered) {
  if (last.end < next.start || (last.step != next.step && entered < 1.0)) return false;
  return last.phase == next.phase || (is_compute(last.phase) && is_compute(next.phase));
}

/// The measured window. It opens when the last worker leaves its warm-up. It closes when the first worker has done its measured steps after
/// that.
struct Window {
  Seconds open;
  Seconds close;
  bool has_opened = false;

  /// The fraction of `interval` inside the window. For an interval of length 0: 1 if it begins inside, else 0.
  double share(const Interval& interval) const;
};

/// Everything that happened to one job. All reports derive from this.
struct JobTimeline {
  int workers = 0;  ///< of the job; one simulated worker may represent several
  Seconds compute;  ///< forward + backward + update of one undisturbed step
  Window window;
  std::vector<std::vector<Step>> steps;         ///< per simulated worker; complete steps only
  std::vector<std::vector<Span>> spans;         ///< per simulated worker
  std::vector<std::vector<Interval>> absences;  ///< per simulated worker, up to the window's close
  std::vector<LayerSpan> layers;
  std::vector<Communicator> streams;            ///< the communicator of each stream's collectives
  std::vector<CollectiveSpan> collectives;      ///< in order of their starts
  std::vector<std::vector<Tie>> ties;           ///< per simulated worker, in program order; empty if not kept
  std::vector<int> in_flight;                   ///< maximum number of collectives in flight, by stream
  std::vector<std::vector<Interval>> channels;  ///< per simulated worker: transfers on its own channel, without collectives
  bool serves = false;                          ///< the channels lead to parameter servers
  std::vector<Interval> server_work;            ///< when the parameter servers were busy
  std::vector<TransferSpan> transfers;
  std::vector<MessageSpan> messages;
  std::vector<CollectiveMessage> collective_messages;  ///< of whole collectives, those of the run's end excepted
  std::vector<RateChange> rate_changes;                ///< of these messages, one after the other
  double messages_not_kept = 0.0;                      ///< > 0: of the first collective whose messages were too many, so many
  std::vector<ServerTraffic> server_traffic;           ///< per simulated worker; empty without servers
  std::map<std::pair<int, int>, Bytes> peer_traffic;   ///< between pairs of workers in the measured window, without collectives
  Bytes held_at_most;                                  ///< maximum over workers, of other workers' parameters
  std::vector<PathPiece> critical_path;                ///< from the window's opening to its close; empty if causes are not recorded
};

/// One entry per job.
using Timeline = std::vector<JobTimeline>;

}  // namespace syncopate
