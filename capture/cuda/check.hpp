#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace syncopate::capture {

/// The device has no memory left.
struct OutOfDeviceMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Each throws std::runtime_error with the call, its place and the library's message if the call failed, or OutOfDeviceMemory.
void check(cudaError_t status, const char* call, const char* file = __builtin_FILE(), int line = __builtin_LINE());
void check(cudnnStatus_t status, const char* call, const char* file = __builtin_FILE(), int line = __builtin_LINE());
void check(cublasStatus_t status, const char* call, const char* file = __builtin_FILE(), int line = __builtin_LINE());

/// The status's name and, if cuDNN has one, its message on what failed last in this thread, which is then forgotten.
std::string describe(cudnnStatus_t status);

/// A number of cudnnGetVersion() as people write it, such as 9.15.1.
std::string cudnn_version(std::size_t number);

/// Whether the status says that memory does not suffice.
bool is_out_of_memory(cudnnStatus_t status);

/// An extent as the libraries' int. Throws std::runtime_error when it does not fit.
int to_int(std::int64_t extent);

}  // namespace syncopate::capture
