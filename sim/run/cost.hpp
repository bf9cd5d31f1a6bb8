#pragma once

#include <cstddef>
#include <vector>

#include "base/processes.hpp"
#include "base/units.hpp"
#include "output/timeline_json.hpp"
#include "run/setup.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// What one message as a flow takes to simulate, as measured: alone on its links, among up to 2048 ranks; and by the number of ranks where
/// many meet (over 2048 ranks a ring's takes 1.4e-6, recursive doubling's 40e-6), or all of them, on the links of servers.
constexpr Seconds cost_of_flow(0.5e-6);
constexpr Seconds cost_of_contended_flow_by_rank(5e-9);
constexpr Seconds cost_of_server_flow_by_rank(7e-8);
/// Messages that move one by one, because collectives are in flight together or latencies vary; and if only starts differ.
constexpr Seconds cost_of_message(1e-6);
constexpr Seconds cost_of_message_of_recurrence(6e-9);

/// Beyond which `auto` takes something faster, where there is anything: flows, and messages one by one.
constexpr Seconds most_seconds_unasked(600.0);
constexpr Seconds most_seconds_by_message_unasked(100.0);

/// What one simulation of a point takes, one replicate where it has several.
struct Cost {
  double steps = 0.0;  ///< gradient steps of all simulated workers, until the measured window has closed
  Seconds time;        ///< on one core
  Bytes memory;        ///< of its process
};

/// From what the scenario counts, without making plans. Where workers do not wait for each other, those that go on while one is paused or
/// slow are counted. Whatever `until` measures more is not.
Cost estimate_cost(const Scenario& scenario, const PointOptions& options = {});

/// With the most that the jitter can make `until` measure.
Cost estimate_most(const Scenario& scenario, const PointOptions& options = {});

/// How large the file of a timeline gets, with that most. `shortcuts`: see PointOptions.
Bytes estimate_timeline(const Scenario& scenario, const TimelineView& view, bool shortcuts);

/// How long it takes until tasks of different cost are done.
class TimeLeft {
 public:
  /// `costs`: what each takes, in proportion at least; `parallel`: so many run at a time.
  TimeLeft(std::vector<Seconds> costs, int parallel);

  void finish(std::size_t task);
  /// `elapsed` since the first has begun. By the pace so far, or, where no task has come anywhere yet, by the costs alone.
  Seconds operator()(Seconds elapsed, const std::vector<RunningTask>& running) const;

 private:
  std::vector<Seconds> costs_;
  Seconds all_;
  Seconds finished_;
  int parallel_;
};

}  // namespace syncopate
