#pragma once

#include <span>

#include "base/units.hpp"
#include "collective/closed_form.hpp"

namespace syncopate {

/// Time until the last message of a ring with different links has arrived. `messages` messages of `chunk` bytes cross each of the N links
/// in sequence. A message starts once the previous one has been transferred over the same link, and it has arrived over the link before.
/// Latencies of messages on one link overlap. The first `reduced` arrivals take gamma more per byte.
///
/// A max-plus recurrence, O(N·messages). An all-reduce has 2(N-1) messages of 1/N of the bytes; N-1 of them are reduced.
Seconds ring_time(std::span<const Hop> hops, int messages, Bytes chunk, int reduced, SecondsPerByte gamma);

/// Time until the last of `messages` messages has arrived at the end of a chain of links (a ring's broadcast).
Seconds chain_time(std::span<const Hop> hops, int messages, Bytes chunk);

}  // namespace syncopate
