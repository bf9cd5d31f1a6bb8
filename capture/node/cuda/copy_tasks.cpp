#include "capture/node/cuda/copy_tasks.hpp"

#include <algorithm>

#include "capture/alignment.hpp"

namespace syncopate::capture {

namespace {

void copy(const Gpu& gpu, const void* from, void* to, std::int64_t bytes) {
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, gpu.stream()), "cudaMemcpyAsync");
}

}  // namespace

HostCopy::HostCopy(const CudaGradients& gradients, cudaMemcpyKind direction, bool pinned)
    : gpu_(gradients.gpu), direction_(direction), device_(gpu_.allocate(gradients.bytes())) {
  const auto count = static_cast<std::size_t>(gradients.count());
  if (pinned) {
    const std::size_t bytes = count * sizeof(float);
    pinned_ = Owned<void*, cudaFreeHost>([bytes](void** memory) { return cudaMallocHost(memory, bytes); }, "cudaMallocHost");
    host_ = {static_cast<float*>(pinned_.get()), count};
  } else {
    pageable_.resize(count);
    host_ = pageable_;
  }
  std::fill(host_.begin(), host_.end(), 0.0F);
}

void HostCopy::write(std::span<const float> numbers) {
  if (direction_ == cudaMemcpyHostToDevice) {
    std::copy(numbers.begin(), numbers.end(), host_.begin());
  } else {
    copy_to_device(device_.data(), numbers.data(), numbers.size_bytes(), gpu_.stream());
  }
}

void HostCopy::run() {
  const bool to_device = direction_ == cudaMemcpyHostToDevice;
  void* to = to_device ? device_.data() : host_.data();
  const void* from = to_device ? host_.data() : device_.data();
  check(cudaMemcpyAsync(to, from, host_.size_bytes(), direction_, gpu_.stream()), "cudaMemcpyAsync");
}

std::vector<float> HostCopy::result() {
  check(cudaStreamSynchronize(gpu_.stream()), "cudaStreamSynchronize");
  if (direction_ == cudaMemcpyHostToDevice)
    return read_numbers(gpu_, device_.data(), Number::fp32, static_cast<std::int64_t>(host_.size()));
  return {host_.begin(), host_.end()};
}

Pack::Pack(const CudaGradients& gradients, bool each)
    : gpu_(gradients.gpu), number_(gradients.number), each_(each), merged_(gpu_.allocate(gradients.bytes())) {
  std::int64_t apart = 0;
  std::int64_t merged = 0;
  for (const std::int64_t length : gradients.tensors) {
    const std::int64_t bytes = length * number_bytes(number_);
    tensors_.push_back({apart, merged, bytes});
    apart += aligned(bytes);
    merged += bytes;
  }
  apart_ = gpu_.allocate(apart);
  list_pieces();
}

void Pack::list_pieces() {
  std::vector<PackPiece> pieces;
  for (const Tensor& tensor : tensors_) {
    for (std::int64_t first = 0; first < tensor.bytes; first += PackPiece::bytes_at_most) {
      pieces.push_back(
          {apart_.at(tensor.apart + first), merged_.at(tensor.merged + first), std::min(PackPiece::bytes_at_most, tensor.bytes - first)});
    }
  }
  piece_count_ = static_cast<std::int64_t>(pieces.size());
  const std::size_t bytes = pieces.size() * sizeof(PackPiece);
  pieces_ = gpu_.allocate(static_cast<std::int64_t>(bytes));
  copy_to_device(pieces_.data(), pieces.data(), bytes, gpu_.stream());
}

void Pack::write(std::span<const float> numbers) {
  write_numbers(gpu_, numbers, merged_.data(), number_);
  for (const Tensor& tensor : tensors_) copy(gpu_, merged_.at(tensor.merged), apart_.at(tensor.apart), tensor.bytes);
  check(cudaMemsetAsync(merged_.data(), 0, merged_.bytes(), gpu_.stream()), "cudaMemsetAsync");
  check(cudaStreamSynchronize(gpu_.stream()), "cudaStreamSynchronize");
}

void Pack::run() {
  if (each_) return copy_each();
  pack(gpu_.stream(), number_, pieces_.as<PackPiece>(), piece_count_);
}

void Pack::copy_each() const {
  for (const Tensor& tensor : tensors_) copy(gpu_, apart_.at(tensor.apart), merged_.at(tensor.merged), tensor.bytes);
}

std::vector<float> Pack::result() {
  return read_numbers(gpu_, merged_.data(), number_, static_cast<std::int64_t>(merged_.bytes()) / number_bytes(number_));
}

}  // namespace syncopate::capture
