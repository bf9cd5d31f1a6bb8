#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "cluster/network.hpp"
#include "export/iteration.hpp"
#include "export/messages.hpp"

namespace syncopate {

/// Takes a file of an export: its name, relative to the export's folder, and its text.
using WriteFile = std::function<void(const std::string& name, std::string_view text)>;

/// Lengths one after the other in whole units. Each ends at its rounded end, so that rounding errors do not add up.
class WholeLengths {
 public:
  explicit WholeLengths(double units_per_second) : units_per_second_(units_per_second) {}

  /// How many units the next one takes.
  long long next(Seconds length) {
    sum_ += length;
    const long long until = std::llround(sum_.value * units_per_second_);
    return until - std::exchange(rounded_, until);
  }

 private:
  double units_per_second_;
  Seconds sum_;
  long long rounded_ = 0;
};

/// Time-independent traces of SMPI, SimGrid 3.32: `traces.txt` lists one file for each lane, which is a process; `hosts`, `platform.xml`,
/// and `replay.sh`, which replays them. Throws SimulationError for what a platform cannot say of the network.
///
/// Hosts: data of rank i goes from host rank-i to rank-j-in, whose route has the links and no latency. Messages of one byte say that
/// something has happened. From rank-i to rank-j they take the latency, elsewhere no time. So a link is shared as in flow fidelity, and a
/// rank goes on when its transfer has ended, as in simctl.
void write_smpi(const Messages& messages, Network& network, Seconds end, const WriteFile& write);

/// GOAL, the text that LogGOPSim reads: `iteration.goal`. Times are whole nanoseconds, messages whole bytes.
///
/// A rank's compute is on cpu 0, its messages on cpu 1, its host on cpu 2, reductions on cpu 3 (of messages inside its node: 4); messages
/// inside a node use nic 1, others nic 0. Barriers inside a node, and notices of the protocol, are messages of one byte.
void write_goal(const Messages& messages, const WriteFile& write);

/// Chakra execution traces, schema 0.0.4 of et_def.proto: `NAME.RANK.et` for each rank. Times are whole microseconds. Where not all
/// collectives are of all ranks, `NAME.groups.json` lists the ranks of each `pg_name`, as ASTRA-sim reads them.
void write_chakra(const Iteration& iteration, const std::string& name, const WriteFile& write);

}  // namespace syncopate
