#pragma once

#include <unordered_map>

#include "base/interval_union.hpp"
#include "import/kineto.hpp"
#include "import/launches.hpp"

namespace syncopate {

/// When a profile's process computes, when it communicates, and when compute only waits for communication.
///
/// With a GPU: kernels of communication move, the others compute. Between two kernels that are more than 2 us apart, compute waits while a
/// collective moves that ends before the second one starts, and
/// - the second one was launched before, or
/// - a call of the host waits for the GPU until the collective ends, before it launches the second one, or
/// - the CPU does the collective (gloo), and the thread that launches the second kernel has launched nothing since.
///
/// Without: operators compute, gloo's collectives move, and an operator that calls a collective waits from the call on while something
/// moves.
struct DeviceTime {
  DeviceTime(const KinetoTrace& profile, const Launches& launches);

  IntervalUnion computing;
  IntervalUnion moving;
  IntervalUnion waiting;                                           ///< part of `moving` in which nothing computes
  std::unordered_map<const KinetoTrace::Kernel*, Seconds> waited;  ///< by kernel: what it has waited before it started

 private:
  void find_on_gpu(const KinetoTrace& profile, const Launches& launches);
  void find_on_cpu(const KinetoTrace& profile);
};

}  // namespace syncopate
