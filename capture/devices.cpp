#include "capture/devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#ifndef SYNCOPATE_NO_CPU
#include "capture/cpu/device.hpp"
#endif
#ifndef SYNCOPATE_NO_CUDA
#include "capture/cuda/device.hpp"
#endif

namespace syncopate::capture {

namespace {

[[maybe_unused, noreturn]] void fail_without(std::string_view device, std::string_view reason) {
  throw DeviceError(fmt::format(
      "--device {}: this program was built without it, because {}; change that, remove the build folder and build again", device, reason));
}

std::unique_ptr<Device> make_cuda_device([[maybe_unused]] const DeviceOptions& options) {
#ifdef SYNCOPATE_NO_CUDA
  fail_without("cuda", SYNCOPATE_NO_CUDA);
#else
  return make_cuda(options.gpu);
#endif
}

std::unique_ptr<Device> make_cpu_device([[maybe_unused]] const DeviceOptions& options) {
#ifdef SYNCOPATE_NO_CPU
  fail_without("cpu", SYNCOPATE_NO_CPU);
#else
  return std::make_unique<CpuDevice>(options.threads);
#endif
}

/// Tensor cores need the channels of a pixel to be adjacent.
Layout cuda_layout(std::string_view dtype) { return dtype == "fp16" || dtype == "bf16" ? Layout::channels_last : Layout::channels_first; }

Layout cpu_layout(std::string_view /*dtype*/) { return Layout::channels_last; }

constexpr std::array table = {
    DeviceRow{"cuda", "an NVIDIA GPU, through cuDNN and cuBLAS", "fp32, tf32, fp16, bf16", make_cuda_device, false, true, 10, cuda_layout},
    DeviceRow{"cpu", "the processor, through oneDNN", "fp32", make_cpu_device, true, false, 2, cpu_layout},
};

}  // namespace

std::span<const DeviceRow> devices() { return table; }

const DeviceRow& find_device(std::string_view name) {
  return *std::find_if(table.begin(), table.end(), [name](const DeviceRow& row) { return row.name == name; });
}

}  // namespace syncopate::capture
