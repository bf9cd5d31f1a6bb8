#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <simgrid/s4u/Comm.hpp>
#include <vector>

#include "cluster/network.hpp"
#include "engine/clock.hpp"

namespace syncopate {

/// Flows of SimGrid over a network: those that meet on a link share it fairly. They take no latency; who needs one pays it.
///
/// SimGrid tells of the end of a communication through a signal of the whole process, so that there can be one object at a time.
class Flows {
 public:
  using Ended = std::function<void(Seconds)>;

  /// After network.build().
  Flows(Network& network, Clock& clock);
  Flows(const Flows&) = delete;
  Flows& operator=(const Flows&) = delete;
  ~Flows();

  /// Bytes begin to move from rank to rank at SimGrid's clock; `ended` is called when they have. Flows that end at the same time are
  /// told of in the order in which they started. Must be called from a timer's function or before the simulation.
  void start(int from, int to, Bytes bytes, Ended ended);

 private:
  struct Flow {
    std::size_t index = 0;  ///< its own
    simgrid::s4u::CommPtr comm;
    Ended ended;
    std::uint64_t number = 0;
    int from = 0;
    int to = 0;
  };

  void move(std::size_t flow, std::uint64_t units);
  /// SimGrid keeps flows below the bandwidth that their links had when they started: those on the link start anew with what is left.
  void change(const Network::Change& change);

  void note_end(std::size_t flow);
  void tell();

  Network& network_;
  Clock& clock_;
  std::deque<Flow> flows_;           ///< where they stay, because SimGrid points to them
  std::vector<std::size_t> unused_;  ///< of these
  std::vector<std::size_t> ended_;   ///< at this instant
  std::uint64_t started_ = 0;
  std::vector<simgrid::s4u::CommPtr> cancelled_;  ///< SimGrid still handles them when the instant is over
};

}  // namespace syncopate
