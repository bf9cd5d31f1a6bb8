#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "engine/clock/clock.hpp"

namespace syncopate {

/// The channels of ranks, each of which carries one message at a time, so that the messages of several collectives take turns.
///
/// No message in progress is interrupted. What becomes ready or free at the same instant (within `rounding`) is decided together: of the
/// messages that wait with both ends free, those of the collective that was posted first start, then those of the next one. A collective
/// sends and receives in its algorithm's order, so that two of its messages never wait for the same channel.
class Channels {
 public:
  /// `ports`: of all ranks, each of which may have several.
  Channels(std::size_t ports, Clock& clock);
  Channels(const Channels&) = delete;
  Channels& operator=(const Channels&) = delete;

  using Ended = std::function<void(const Moment&)>;

  /// At `now` a message is ready to go from port `from` to port `to`, which takes `duration`; `ended` is called when it has arrived.
  /// `order`: of the message's collective; the lowest goes first. `why`: what kind of time that is.
  void send(std::uint32_t order, std::size_t from, std::size_t to, const Moment& now, Seconds duration, const Why& why, Ended ended);

 private:
  struct Waiting {
    Moment ready{};
    Seconds duration{};
    Why why{};
    Ended ended{};
  };
  /// One end of a port: what goes out of it, or what comes in.
  struct End {
    bool is_taken = false;
    Moment free{};                    ///< since when, if it is not taken
    std::vector<std::size_t> ways{};  ///< that begin, or end, here
  };
  /// From one port to another: of the messages that wait for it, the oldest goes first.
  struct Way {
    std::size_t from = 0;
    std::size_t to = 0;
    std::set<std::pair<std::uint32_t, std::size_t>> waiting{};  ///< orders and indices of messages
    bool is_candidate = false;
  };

  std::size_t way(std::size_t from, std::size_t to);
  bool is_free(const Way& way) const { return !senders_[way.from].is_taken && !receivers_[way.to].is_taken; }
  /// Decides on these ways when everything of this instant has happened.
  void look_at(std::span<const std::size_t> ways, Seconds now);
  void decide();
  void start(Way& way);

  Clock& clock_;
  std::vector<End> senders_;
  std::vector<End> receivers_;
  std::vector<Waiting> messages_;
  std::vector<std::size_t> unused_;  ///< places in messages_
  std::deque<Way> ways_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> way_between_;
  std::vector<std::size_t> candidates_;  ///< ways where a message has become ready, or an end has become free
  bool is_deciding_ = false;             ///< decide() is going to be called
};

}  // namespace syncopate
