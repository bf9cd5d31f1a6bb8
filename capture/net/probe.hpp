#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "capture/net/peers.hpp"
#include "capture/recording.hpp"

namespace syncopate::capture {

struct NetworkOptions {
  std::int64_t smallest = 1024;  ///< bytes of the first collective; each next one has twice as many
  std::int64_t largest = 256 << 20;
  Seconds longest{1.0};  ///< sizes end with the first all-reduce that takes this long
  Seconds budget{0.5};   ///< for the repetitions of one measurement; these are 3 to 50 in any case
  int servers = 0;       ///< > 0: the first ranks, so many, also serve the others; fewer than all ranks
  std::function<void(const std::string& what)> progress = [](const std::string&) {};
};

/// Times of one operation on `bytes`, in each repetition averaged over the ranks.
struct TimedSize {
  std::int64_t bytes = 0;
  Spread seconds;
  int repetitions = 0;
};

/// Between two ranks, when nothing else moves.
struct TimedPair {
  int from = 0;
  int to = 0;
  Spread latency;  ///< half of the round trip of 4 bytes
  Rate bandwidth;  ///< of a large message, apart from the latency
};

/// Messages between servers, the first ranks, and their clients, all others. Each client moves so many bytes, an equal part of them from or
/// to each server. The times are those of the slowest rank.
struct TimedServers {
  int count = 0;                  ///< of servers
  std::vector<TimedSize> push{};  ///< clients send, and servers add up what they receive
  std::vector<TimedSize> pull{};  ///< servers send
  std::vector<TimedSize> both{};  ///< both at a time
  /// Where there are several clients: the smallest size of `push` and `pull` for one of them, while the others do nothing.
  std::vector<TimedSize> push_of_one{};
  std::vector<TimedSize> pull_of_one{};
};

struct NetworkMeasurements {
  std::vector<std::string> hosts;      ///< one per rank
  std::vector<TimedSize> all_reduce;   ///< one at a time, each begun when all ranks are idle
  std::vector<TimedSize> queued;       ///< all-reduces back to back, for each of them
  std::vector<TimedSize> two_at_once;  ///< two all-reduces of so many bytes each, until both are done
  std::vector<TimedSize> all_gather;   ///< bytes of each rank
  TimedServers servers;                ///< empty unless the options have some
  std::vector<TimedPair> pairs;        ///< every two ranks both ways; of more than 16 ranks neighbours only
  Seconds host_per_message;            ///< processor time of a message of 4 bytes, sent or received, by all threads of the process
  SecondsPerByte add;                  ///< time to add a byte of single-precision numbers to others in memory
};

/// All ranks must call it, with equal options; rank 0 gets the result, the others parts of it. Throws DeviceError.
NetworkMeasurements measure_network(Peers& peers, const NetworkOptions& options);

/// Text of a network-probe/1 file: see capture/net/README.md.
std::string write_network(const Json& provenance, const std::string& library, const NetworkOptions& options,
                          const NetworkMeasurements& found);

std::string format_network(const NetworkMeasurements& found);

}  // namespace syncopate::capture
