// In the place of capture/cuda/memory.cpp and products.cpp: the device's memory and products of matrices on the host.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "capture/cuda/memory.hpp"
#include "capture/cuda/products.hpp"
#include "host_memory.hpp"

namespace syncopate::capture {

namespace {

constexpr std::size_t alignment = 256;  // as cudaMalloc's
constexpr int filling = 0xFF;           // of what surrounds an array: no numbers in every format

std::byte* block_of(void* memory) { return static_cast<std::byte*>(memory) - alignment; }

std::vector<float> numbers_of(const void* numbers, std::int64_t count, Number number) {
  std::vector<float> values(static_cast<std::size_t>(count));
  convert(nullptr, numbers, number, values.data(), Number::fp32, count);
  return values;
}

}  // namespace

// The block's first bytes hold the array's size; a whole alignment on both sides is filled.
DeviceMemory::DeviceMemory(std::int64_t bytes, cudaStream_t /*stream*/) : bytes_(static_cast<std::size_t>(bytes)) {
  if (bytes == 0) return;
  const std::size_t all = (bytes_ + 3 * alignment) / alignment * alignment;
  auto* block = static_cast<std::byte*>(std::aligned_alloc(alignment, all));
  if (block == nullptr) throw std::bad_alloc();
  std::memset(block, filling, all);
  std::memcpy(block, &bytes_, sizeof(bytes_));
  std::memset(block + alignment, 0, bytes_);
  memory_.reset(block + alignment);
}

void DeviceMemory::Free::operator()(void* memory) const {
  require_intact(memory);
  std::free(block_of(memory));  // NOLINT(cppcoreguidelines-no-malloc)
}

void require_intact(const void* memory) {
  const auto* array = static_cast<const std::byte*>(memory);
  std::size_t bytes = 0;
  std::memcpy(&bytes, array - alignment, sizeof(bytes));
  const auto is_filling = [](std::byte byte) { return byte == std::byte{filling}; };
  if (!std::all_of(array - alignment + sizeof(bytes), array, is_filling) ||
      !std::all_of(array + bytes, array + (bytes + 3 * alignment) / alignment * alignment - alignment, is_filling)) {
    std::abort();  // a destructor cannot tell otherwise that a kernel has written beyond an array
  }
}

void copy_to_device(void* to, const void* from, std::size_t bytes, cudaStream_t /*stream*/) { std::memcpy(to, from, bytes); }
void copy_to_host(void* to, const void* from, std::size_t bytes, cudaStream_t /*stream*/) { std::memcpy(to, from, bytes); }

void multiply(const CudaTools& tools, const ProductExtents& extents, const Factor& left, const Factor& right, void* result, bool adds) {
  const auto all_of = [&](const Factor& factor, std::int64_t rows, std::int64_t columns) {
    return numbers_of(factor.numbers, (factor.transposed ? columns : rows) * factor.stride, tools.number);
  };
  const auto place = [](const Factor& factor, std::int64_t row, std::int64_t column) {
    return static_cast<std::size_t>(factor.transposed ? column * factor.stride + row : row * factor.stride + column);
  };
  const std::vector<float> lefts = all_of(left, extents.rows, extents.depth);
  const std::vector<float> rights = all_of(right, extents.depth, extents.columns);
  std::vector<float> sums = numbers_of(result, extents.rows * extents.columns, tools.number);
  if (!adds) std::fill(sums.begin(), sums.end(), 0.0F);
  for (std::int64_t row = 0; row < extents.rows; ++row) {
    for (std::int64_t column = 0; column < extents.columns; ++column) {
      float& sum = sums[static_cast<std::size_t>(row * extents.columns + column)];
      for (std::int64_t i = 0; i < extents.depth; ++i) sum += lefts[place(left, row, i)] * rights[place(right, i, column)];
    }
  }
  convert(nullptr, sums.data(), Number::fp32, result, tools.number, extents.rows * extents.columns);
}

std::string_view product_name(const CudaTools& /*tools*/) { return "host"; }

}  // namespace syncopate::capture
