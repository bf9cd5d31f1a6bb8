#pragma once

#include <span>

#include "base/units.hpp"
#include "collective/closed_form.hpp"

namespace syncopate {

/// When the last message of a ring has arrived whose links differ. Over each of the N links go `messages` messages of `chunk`
/// bytes, one after the other: a message starts once the one before it has been transferred over this link and has arrived over
/// the link before; latencies of messages on the same link overlap. The first `reduced` arrivals take gamma more per byte.
/// A max-plus recurrence, O(N·messages). All-reduce: 2(N-1) messages of 1/N of the bytes, N-1 of them reduced.
Seconds ring_time(std::span<const Hop> hops, int messages, Bytes chunk, int reduced, SecondsPerByte gamma);

/// When the last of `messages` has arrived that go along a chain of those links, one after the other: a ring's broadcast.
Seconds chain_time(std::span<const Hop> hops, int messages, Bytes chunk);

}  // namespace syncopate
