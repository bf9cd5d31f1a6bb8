#pragma once

#include "capture/cuda/check.hpp"
#include "cuda_on_host.hpp"

// In the place of capture's own: a launch runs on the host.
namespace syncopate::capture {

template <class... Parameters, class... Arguments>
void launch(cudaStream_t /*stream*/, void (*kernel)(Parameters...), dim3 grid, dim3 block, Arguments... arguments) {
  host_cuda::run_grid(grid, block, [=] { kernel(arguments...); });
}

}  // namespace syncopate::capture
