#include "capture/cuda/gpu.hpp"

#include <fmt/format.h>

#include <array>

#include "capture/cuda/kernels.hpp"

namespace syncopate::capture {

namespace {

std::string format_version(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

int cublas_version(libraryPropertyType part) {
  int number = 0;
  check(cublasGetProperty(part, &number), "cublasGetProperty");
  return number;
}

std::string describe_count(int count) {
  return count == 1 ? "there is 1 NVIDIA GPU, cuda:0" : fmt::format("there are {} NVIDIA GPUs, cuda:0 to cuda:{}", count, count - 1);
}

}  // namespace

StreamHandle make_stream() {
  return StreamHandle([](cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking); },
                      "cudaStreamCreateWithFlags");
}

void record(const EventHandle& event, cudaStream_t stream) { check(cudaEventRecord(event.get(), stream), "cudaEventRecord"); }

void record_in_graph(const EventHandle& event, cudaStream_t stream) {
  check(cudaEventRecordWithFlags(event.get(), stream, cudaEventRecordExternal), "cudaEventRecordWithFlags");
}

Seconds elapsed(const EventHandle& from, const EventHandle& to) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, from.get(), to.get()), "cudaEventElapsedTime");
  return Seconds(1e-3 * static_cast<double>(milliseconds));
}

Gpu::Gpu(int index) : index_(index) {
  const auto require = [](cudaError_t status) {
    if (status == cudaSuccess) return;
    cudaGetLastError();
    throw DeviceError(
        fmt::format("--device cuda: no NVIDIA GPU can be used: {}; check nvidia-smi, or use --device cpu", cudaGetErrorString(status)));
  };
  int count = 0;
  require(cudaGetDeviceCount(&count));
  if (count == 0) require(cudaErrorNoDevice);
  if (index >= count) throw DeviceError(fmt::format("--device cuda:{}: {}", index, describe_count(count)));
  require(cudaSetDevice(index));
  cudaDeviceProp properties = {};
  require(cudaGetDeviceProperties(&properties, index));
  name_ = static_cast<const char*>(properties.name);
  std::array<char, 32> bus = {};
  require(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), index));
  nvml_ = std::make_unique<Nvml>(bus.data());
  try {
    stream_ = make_stream();
    delay(stream(), 0);  // shows whether this program has code for the GPU
    check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
  } catch (const std::runtime_error& error) {
    throw unusable(error.what());
  }
}

DeviceError Gpu::unusable(std::string_view reason) const {
  return DeviceError(fmt::format("--device cuda:{}: {} cannot be used: {}; check nvidia-smi, or use --device cpu", index_, name_, reason));
}

DeviceDescription Gpu::describe() const {
  DeviceDescription description;
  description.kind = "gpu";
  description.name = name_;
  description.clock = "CUDA events";
  int version = 0;
  check(cudaRuntimeGetVersion(&version), "cudaRuntimeGetVersion");
  description.software["cuda_runtime"] = format_version(version);
  check(cudaDriverGetVersion(&version), "cudaDriverGetVersion");
  description.software["cuda_driver"] = format_version(version);
  if (const auto driver = nvml_->driver_version()) description.software["nvidia_driver"] = *driver;
  description.software["cublas"] =
      fmt::format("{}.{}.{}", cublas_version(MAJOR_VERSION), cublas_version(MINOR_VERSION), cublas_version(PATCH_LEVEL));
  if (const auto hertz = nvml_->hertz(Nvml::Clock::streaming_multiprocessors)) description.clocks["sm_hz"] = *hertz;
  if (const auto hertz = nvml_->hertz(Nvml::Clock::memory)) description.clocks["memory_hz"] = *hertz;
  return description;
}

}  // namespace syncopate::capture
