#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "engine/clock/clock.hpp"
#include "engine/streams/admission.hpp"

namespace syncopate {

/// The channels of some ranks, each of which carries one message at a time, while the messages of several collectives wait for them.
///
/// A turn is a message, and none in progress is interrupted. What becomes ready or free at the same instant (within `rounding`) is seen
/// together; then the collective that was posted first goes first: of the messages that wait with both ends free, those of the oldest
/// collective start, then those of the next. A collective sends and receives in its algorithm's order, so that never two of its messages
/// wait for the same channel.
class Channels {
 public:
  /// `ports`: a rank's or lane's, perhaps several for each.
  Channels(std::size_t ports, Clock& clock);
  Channels(const Channels&) = delete;
  Channels& operator=(const Channels&) = delete;

  using Ended = std::function<void(const Moment&)>;

  /// At `now` a message is ready to go from one port to another for that long, and why; `ended` is called when it has gone.
  void send(Ticket ticket, std::size_t from, std::size_t to, const Moment& now, Seconds duration, const Why& why, Ended ended);

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
    Moment free{};                    ///< since
    std::vector<std::size_t> ways{};  ///< that begin, or end, here
  };
  /// From a port to another one: of what waits for it, the oldest goes first.
  struct Way {
    std::size_t from = 0;
    std::size_t to = 0;
    std::set<std::pair<Ticket, std::size_t>> waiting{};  ///< messages, by their indices
    bool is_candidate = false;
  };

  std::size_t way(std::size_t from, std::size_t to);
  bool is_free(const Way& way) const { return !senders_[way.from].is_taken && !receivers_[way.to].is_taken; }
  /// Looks at these ways when everything of this instant has happened.
  void look_at(std::span<const std::size_t> ways, Seconds now);
  void decide();
  void start(Way& way);

  Clock& clock_;
  std::vector<End> senders_;
  std::vector<End> receivers_;
  std::vector<Waiting> messages_;
  std::vector<std::size_t> unused_;  ///< of these
  std::deque<Way> ways_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> way_between_;
  std::vector<std::size_t> candidates_;  ///< ways: what has become ready, or waits for what has become free
  bool is_deciding_ = false;             ///< decide() will be called
};

}  // namespace syncopate
