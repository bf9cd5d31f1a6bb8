#pragma once

#include <cublasLt.h>

#include <memory>
#include <type_traits>

#include "capture/cuda/check.hpp"

namespace syncopate::capture {

/// Owns a library's object, and destroys it.
template <class Handle, auto destroy>
class Owned {
 public:
  Owned() = default;
  template <class Create>
  explicit Owned(Create create, const char* call) {
    Handle handle = nullptr;
    check(create(&handle), call);
    handle_.reset(handle);
  }
  Handle get() const { return handle_.get(); }

 private:
  struct Destroy {
    void operator()(std::remove_pointer_t<Handle>* handle) const { destroy(handle); }
  };
  std::unique_ptr<std::remove_pointer_t<Handle>, Destroy> handle_;
};

using StreamHandle = Owned<cudaStream_t, cudaStreamDestroy>;
using EventHandle = Owned<cudaEvent_t, cudaEventDestroy>;
using GraphDescription = Owned<cudaGraph_t, cudaGraphDestroy>;
using GraphHandle = Owned<cudaGraphExec_t, cudaGraphExecDestroy>;
using CudnnHandle = Owned<cudnnHandle_t, cudnnDestroy>;
using CublasHandle = Owned<cublasHandle_t, cublasDestroy>;
using CublasLtHandle = Owned<cublasLtHandle_t, cublasLtDestroy>;
using MatmulDescriptor = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using MatmulPreference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;
using MatrixLayout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using TensorDescriptor = Owned<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor>;

}  // namespace syncopate::capture
