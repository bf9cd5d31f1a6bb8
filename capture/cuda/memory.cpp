#include "capture/cuda/memory.hpp"

#include "capture/cuda/check.hpp"

namespace syncopate::capture {

DeviceMemory::DeviceMemory(std::int64_t bytes, cudaStream_t stream) : bytes_(static_cast<std::size_t>(bytes)) {
  if (bytes == 0) return;
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, bytes_);
  if (status != cudaSuccess) cudaGetLastError();  // clears the error, which the next launch would report again
  check(status, "cudaMalloc");
  memory_.reset(memory);
  check(cudaMemsetAsync(memory, 0, bytes_, stream), "cudaMemsetAsync");
}

void DeviceMemory::Free::operator()(void* memory) const { cudaFree(memory); }

void copy_to_device(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

void copy_to_host(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

}  // namespace syncopate::capture
