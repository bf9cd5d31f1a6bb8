#pragma once

#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "collective/collective.hpp"

namespace syncopate {

/// What a worker is doing. `blocked`: waiting for a collective, whether or not it moves yet.
enum class Phase : std::uint8_t { forward, backward, update, blocked };

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
};

/// One gradient step of one worker, from its start to the next step's start.
struct Step {
  Seconds start;
  Seconds end{};
  int posts = 0;      ///< collectives posted in it
  Bytes bytes{};      ///< payload of those posts
  int updates = 0;    ///< updates applied in it
  int staleness = 0;  ///< sum over those updates
  int staleness_max = 0;
};

/// The measured window: opens when the last worker leaves its warm-up, closes when the first has done its measured
/// steps after that.
struct Window {
  Seconds open;
  Seconds close;
};

/// What happened to one job. Everything that a report says is derived from this.
struct JobTimeline {
  int ranks = 0;    ///< workers of the job; a simulated worker may stand for all of them
  Seconds compute;  ///< undisturbed forward + backward + update of one step
  Window window;
  std::vector<std::vector<Step>> steps;  ///< per simulated worker, complete steps only
  std::vector<std::vector<Span>> spans;  ///< per simulated worker
  std::vector<LayerSpan> layers;
  std::vector<CollectiveSpan> collectives;
};

/// One entry per job.
using Timeline = std::vector<JobTimeline>;

}  // namespace syncopate
