#pragma once

#include <memory>
#include <vector>

#include "capture/node/cuda/overlap_work.hpp"
#include "capture/node/device.hpp"

namespace syncopate::capture {

/// Every kind of compute of the calling thread's GPU beside every kind of communication.
std::vector<Overlap> cuda_overlaps();

/// Compute in one stream, alone and while the work of another stream goes on from before its start until after its end.
class CudaOverlap {
 public:
  /// `bytes` are the size of the gradients.
  CudaOverlap(const Gpu& gpu, const Overlap& overlap, std::int64_t bytes);

  /// Alternates between alone and beside, so that both see the same temperature. Only events in the compute stream count.
  OverlapTimes measure(int repetitions);

 private:
  void queue_compute();
  Seconds time_alone();
  Seconds time_beside();
  Seconds time_communication();

  const Gpu& gpu_;
  StreamHandle other_stream_;
  std::unique_ptr<CudaWork> compute_;
  std::unique_ptr<CudaWork> communication_;
  int computes_ = 1;  // runs of the compute in one measured time
  int rounds_ = 1;    // of communication after the first
  EventHandle begin_;
  EventHandle end_;
  EventHandle other_begin_;
  EventHandle other_end_;
};

}  // namespace syncopate::capture
