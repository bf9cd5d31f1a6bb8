#pragma once

#include <cstddef>

#include "base/units.hpp"

namespace syncopate {

/// Parameter servers and the star that joins them to their clients; all links are alike.
struct ServerSetup {
  int servers = 1;            ///< each holds the same share of every tensor
  bool colocated = false;     ///< server s is on the node of client s and shares its link
  bool duplex = true;         ///< pushes and pulls of a client move at the same time; false: one tensor at a time, push, work and pull
  bool asynchronous = false;  ///< clients do not wait for each other: note the staleness of every push
  SecondsPerByte work;        ///< a server's time for each byte of its share of a push
  Rate bandwidth;
  Seconds latency;
  SecondsPerByte gather;   ///< within a client's node, before a push: time per byte ...
  Seconds gather_latency;  ///< ... and message
  SecondsPerByte spread;   ///< within a client's node, after a pull
  Seconds spread_latency;
};

/// What a server answers a push with.
enum class Answer {
  none,
  own,  ///< the client pulls as soon as its own push has been handled
  all,  ///< every client pulls once the pushes of all of them have been handled
};

/// Names one push, with the pull that answers it, or one pull: its position among those of its client.
struct Exchange {
  std::size_t index = 0;
};

}  // namespace syncopate
