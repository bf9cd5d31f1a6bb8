// In the place of capture/cuda/memory.cpp and products.cpp: the device's memory and products of matrices on the host.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>
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

/// Numbers of a matrix with rows `stride` apart, of which the last one ends with its last column.
std::int64_t extent_of(std::int64_t rows, std::int64_t columns, std::int64_t stride) { return (rows - 1) * stride + columns; }

/// result (rows `stride` apart) = scale * left right, to which it is added if it `adds`.
void multiply_on_host(Number number, const ProductExtents& extents, float scale, const Factor& left, const Factor& right, void* result,
                      std::int64_t stride, bool adds) {
  const auto all_of = [&](const Factor& factor, std::int64_t rows, std::int64_t columns) {
    if (factor.transposed) std::swap(rows, columns);
    return numbers_of(factor.numbers, extent_of(rows, columns, factor.stride), number);
  };
  const auto place = [](const Factor& factor, std::int64_t row, std::int64_t column) {
    return static_cast<std::size_t>(factor.transposed ? column * factor.stride + row : row * factor.stride + column);
  };
  const std::vector<float> lefts = all_of(left, extents.rows, extents.depth);
  const std::vector<float> rights = all_of(right, extents.depth, extents.columns);
  const std::int64_t count = extent_of(extents.rows, extents.columns, stride);
  std::vector<float> results = numbers_of(result, count, number);
  for (std::int64_t row = 0; row < extents.rows; ++row) {
    for (std::int64_t column = 0; column < extents.columns; ++column) {
      float sum = 0;
      for (std::int64_t i = 0; i < extents.depth; ++i) sum += lefts[place(left, row, i)] * rights[place(right, i, column)];
      float& found = results[static_cast<std::size_t>(row * stride + column)];
      found = scale * sum + (adds ? found : 0.0F);
    }
  }
  convert(nullptr, results.data(), Number::fp32, result, number, count);
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
  multiply_on_host(tools.number, extents, 1.0F, left, right, result, extents.columns, adds);
}

void multiply_all(const CudaTools& tools, const ProductExtents& extents, float scale, const Factors& left, const Factors& right,
                  const Products& results, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    multiply_on_host(tools.number, extents, scale, {left.numbers[i], left.stride, left.transposed},
                     {right.numbers[i], right.stride, right.transposed}, results.numbers[i], results.stride, false);
  }
}

std::string_view product_name(const CudaTools& /*tools*/) { return "host"; }

}  // namespace syncopate::capture
