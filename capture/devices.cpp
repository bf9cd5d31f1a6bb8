#include "capture/devices.hpp"

#include <array>

#ifdef SYNCOPATE_WITH_CPU
#include "capture/cpu/device.hpp"
#endif
#ifdef SYNCOPATE_WITH_CUDA
#include "capture/cuda/device.hpp"
#endif

namespace syncopate::capture {

namespace {

std::unique_ptr<Device> make_cuda_device(const DeviceOptions& /*options*/) {
#ifdef SYNCOPATE_WITH_CUDA
  return make_cuda();
#else
  throw DeviceError(
      "--device cuda: this program was built without it, because CMake found no CUDA Toolkit with cuDNN; install both, remove build/ and "
      "build again");
#endif
}

std::unique_ptr<Device> make_cpu_device([[maybe_unused]] const DeviceOptions& options) {
#ifdef SYNCOPATE_WITH_CPU
  return std::make_unique<CpuDevice>(options.threads);
#else
  throw DeviceError(
      "--device cpu: this program was built without it, because CMake found no oneDNN 2; install libdnnl-dev, remove build/ and build "
      "again");
#endif
}

/// Tensor cores work on channels that lie side by side.
Layout cuda_layout(std::string_view dtype) { return dtype == "fp16" || dtype == "bf16" ? Layout::channels_last : Layout::channels_first; }

Layout cpu_layout(std::string_view /*dtype*/) { return Layout::channels_last; }

constexpr std::array table = {
    DeviceRow{"cuda", "an NVIDIA GPU, through cuDNN and cuBLAS", "fp32, tf32, fp16, bf16", make_cuda_device, 10, cuda_layout},
    DeviceRow{"cpu", "the processor, through oneDNN", "fp32", make_cpu_device, 2, cpu_layout},
};

}  // namespace

std::span<const DeviceRow> devices() { return table; }

}  // namespace syncopate::capture
