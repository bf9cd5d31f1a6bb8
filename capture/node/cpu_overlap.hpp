#pragma once

#include "capture/node/device.hpp"

namespace syncopate::capture {

/// CPU time of the calling thread.
Seconds thread_time();

/// Every kind of compute of one thread beside additions in others. Empty on a machine with one processor.
std::vector<Overlap> cpu_overlaps();

/// Alternates between alone and beside, so that both see the same state of the machine. `bytes` are the size of the gradients. The CPU
/// time of the thread that computes counts.
OverlapTimes measure_cpu_overlap(const Overlap& overlap, std::int64_t bytes, int repetitions);

}  // namespace syncopate::capture
