#include "capture/cuda/check.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <string>
#include <string_view>

namespace syncopate::capture {

namespace {

[[noreturn]] void fail(bool out_of_memory, const char* call, const char* message, std::string_view file, int line) {
  const std::string text = fmt::format("{} at {}:{}: {}", call, file.substr(file.rfind('/') + 1), line, message);
  if (out_of_memory) throw OutOfDeviceMemory(text);
  throw std::runtime_error(text);
}

}  // namespace

void check(cudaError_t status, const char* call, const char* file, int line) {
  if (status != cudaSuccess) fail(status == cudaErrorMemoryAllocation, call, cudaGetErrorString(status), file, line);
}

std::string describe(cudnnStatus_t status) {
  std::array<char, 1024> message{};
  cudnnGetLastErrorString(message.data(), message.size());
  const std::string name = cudnnGetErrorString(status);
  return message.front() == '\0' ? name : fmt::format("{} ({})", name, message.data());
}

std::string cudnn_version(std::size_t number) { return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100); }

bool is_out_of_memory(cudnnStatus_t status) {
  return status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED || status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

void check(cudnnStatus_t status, const char* call, const char* file, int line) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  fail(is_out_of_memory(status), call, describe(status).c_str(), file, line);
}

void check(cublasStatus_t status, const char* call, const char* file, int line) {
  if (status != CUBLAS_STATUS_SUCCESS) fail(status == CUBLAS_STATUS_ALLOC_FAILED, call, cublasGetStatusString(status), file, line);
}

int to_int(std::int64_t extent) {
  if (extent > std::numeric_limits<int>::max())
    throw std::runtime_error(fmt::format("an extent of {} is more than the 2147483647 that cuDNN and cuBLAS support", extent));
  return static_cast<int>(extent);
}

}  // namespace syncopate::capture
