#include <fmt/format.h>

#include "capture/node/cpu_device.hpp"
#ifndef SYNCOPATE_NO_CUDA
#include "capture/node/cuda/device.hpp"
#endif

namespace syncopate::capture {

std::unique_ptr<NodeDevice> open_node_device(const DeviceName& name) {
  if (name.kind == "cpu") return std::make_unique<CpuNode>();
#ifdef SYNCOPATE_NO_CUDA
  throw DeviceError(
      fmt::format("--device cuda: this program was built without it, because {}; change that, remove the build folder and "
                  "build again",
                  SYNCOPATE_NO_CUDA));
#else
  return std::make_unique<CudaNode>(name.index);
#endif
}

}  // namespace syncopate::capture
