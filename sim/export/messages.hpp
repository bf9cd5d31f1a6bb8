#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cluster/planned.hpp"
#include "export/iteration.hpp"

namespace syncopate {

/// Something that a lane does.
struct Operand {
  enum class Kind {
    compute,  ///< takes `length`
    send,     ///< moves `bytes` to the partner, when both have come to it; ends with the transfer
    receive,  ///< the other end; what depends on it waits for the arrival, a latency after the transfer
    join,     ///< takes no time
    notice,   ///< takes no time; what depends on it at another rank hears of it a latency later
  };
  Kind kind = Kind::join;
  std::uint32_t lane = 0;
  std::uint32_t position = 0;  ///< in its lane
  Seconds length{};
  Bytes bytes{};
  std::size_t partner = 0;           ///< of a send, its receive; of a receive, its send
  std::vector<std::size_t> after{};  ///< operands that it waits for, besides those before it in its lane
};

/// A rank's operands that happen one after the other.
struct Lane {
  enum class Role { compute, host, send, receive, send_inside, receive_inside, reduce, reduce_inside, arrivals, barrier, notices };
  int rank = 0;
  Role role = Role::compute;
  std::vector<std::size_t> operands{};

  /// Messages that stay inside a node have channels of their own.
  bool is_inside() const { return role == Role::send_inside || role == Role::receive_inside; }
};

/// An iteration as messages and what they wait for: the plans of its collectives, by the rules of PlanRun. Each rank has a lane for its
/// compute and lanes for each of its streams. An operand of another rank among those that one waits for is a join (no time passes: it is a
/// barrier inside a node) or a notice.
struct Messages {
  int ranks = 0;
  std::vector<Lane> lanes{};
  std::vector<Operand> operands{};
};

/// More would take some gigabytes of memory.
constexpr double most_messages = 4e6;

/// Throws SimulationError for more than most_messages.
Messages messages_of(const Iteration& iteration, PlannedCollectives& planned);

}  // namespace syncopate
