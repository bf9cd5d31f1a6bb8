#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <cstdint>
#include <stdexcept>

namespace syncopate::capture {

/// The device has no memory left.
struct OutOfDeviceMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Each throws std::runtime_error with the call, its place and the library's message if the call failed, or OutOfDeviceMemory.
void check(cudaError_t status, const char* call, const char* file = __builtin_FILE(), int line = __builtin_LINE());
void check(cudnnStatus_t status, const char* call, const char* file = __builtin_FILE(), int line = __builtin_LINE());
void check(cublasStatus_t status, const char* call, const char* file = __builtin_FILE(), int line = __builtin_LINE());

/// Whether the status says that memory does not suffice.
bool is_out_of_memory(cudnnStatus_t status);

/// An extent as the libraries' int. Throws std::runtime_error when it does not fit.
int to_int(std::int64_t extent);

}  // namespace syncopate::capture
