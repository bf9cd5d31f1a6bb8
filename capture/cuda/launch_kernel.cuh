#pragma once

#include <cuda_runtime_api.h>

#include "capture/cuda/check.hpp"

namespace syncopate::capture {

template <class... Parameters, class... Arguments>
void launch(cudaStream_t stream, void (*kernel)(Parameters...), dim3 grid, dim3 block, Arguments... arguments) {
  kernel<<<grid, block, 0, stream>>>(arguments...);
  check(cudaGetLastError(), "a kernel's launch");
}

}  // namespace syncopate::capture
