#include "capture/cuda/nvml.hpp"

#include <dlfcn.h>

#include <array>
#include <bit>

namespace syncopate::capture {

namespace {

// Declared here because nvml.h may not be installed.
using Initialize = int();
using ShutDown = int();
using FindGpu = int(const char* pci_bus_id, void** gpu);
using ReadClock = int(void* gpu, int clock, unsigned int* megahertz);
using ReadVersion = int(char* text, unsigned int length);

}  // namespace

Nvml::Nvml(const std::string& pci_bus_id) : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
  auto* initialize = find<Initialize>("nvmlInit_v2");
  if (initialize == nullptr || initialize() != 0) {
    library_.reset();
    return;
  }
  auto* find_gpu = find<FindGpu>("nvmlDeviceGetHandleByPciBusId_v2");
  if (find_gpu == nullptr || find_gpu(pci_bus_id.c_str(), &gpu_) != 0) gpu_ = nullptr;
}

void Nvml::Unload::operator()(void* library) const {
  auto* shut_down = std::bit_cast<ShutDown*>(dlsym(library, "nvmlShutdown"));
  if (shut_down != nullptr) shut_down();
  dlclose(library);
}

template <class Function>
Function* Nvml::find(const char* name) const {
  return library_ ? std::bit_cast<Function*>(dlsym(library_.get(), name)) : nullptr;
}

std::optional<double> Nvml::hertz(Clock clock) const {
  auto* read = find<ReadClock>("nvmlDeviceGetClockInfo");
  unsigned int megahertz = 0;
  if (gpu_ == nullptr || read == nullptr || read(gpu_, static_cast<int>(clock), &megahertz) != 0) return std::nullopt;
  return 1e6 * megahertz;
}

std::optional<std::string> Nvml::driver_version() const {
  auto* read = find<ReadVersion>("nvmlSystemGetDriverVersion");
  std::array<char, 80> text = {};
  if (read == nullptr || read(text.data(), text.size()) != 0) return std::nullopt;
  return std::string(text.data());
}

}  // namespace syncopate::capture
