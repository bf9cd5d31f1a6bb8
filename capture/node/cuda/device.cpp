#include "capture/node/cuda/device.hpp"

#include "capture/node/cuda/overlap.hpp"
#include "capture/node/cuda/tasks.hpp"

namespace syncopate::capture {

CudaNode::CudaNode(int index) : gpu_(index), begin_(cudaEventCreate, "cudaEventCreate"), end_(cudaEventCreate, "cudaEventCreate") {}

std::span<const std::string_view> CudaNode::dtypes(const Operation& operation) const {
  const CudaOperation* found = find_cuda_operation(operation.name);
  return found == nullptr ? std::span<const std::string_view>() : found->dtypes;
}

std::unique_ptr<NodeTask> CudaNode::prepare(const Operation& operation, std::string_view dtype, const std::vector<std::int64_t>& tensors) {
  cudaGetLastError();  // clears the error of an earlier task
  return find_cuda_operation(operation.name)->make({gpu_, number_of(dtype), tensors, operation.share});
}

Seconds CudaNode::time(NodeTask& task) {
  delay(gpu_.stream(), queueing_nanoseconds);
  record(begin_, gpu_.stream());
  task.run();
  record(end_, gpu_.stream());
  check(cudaStreamSynchronize(gpu_.stream()), "cudaStreamSynchronize");
  return elapsed(begin_, end_);
}

std::vector<Overlap> CudaNode::overlaps() const { return cuda_overlaps(); }

OverlapTimes CudaNode::measure(const Overlap& overlap, std::int64_t bytes, int repetitions) {
  cudaGetLastError();
  return CudaOverlap(gpu_, overlap, bytes).measure(repetitions);
}

}  // namespace syncopate::capture
