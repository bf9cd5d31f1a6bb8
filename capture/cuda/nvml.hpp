#pragma once

#include <memory>
#include <optional>
#include <string>

namespace syncopate::capture {

/// NVIDIA's management library, which comes with the driver, asked about one GPU. It reads and never sets.
class Nvml {
 public:
  enum class Clock { streaming_multiprocessors = 1, memory = 2 };  // as nvml.h counts them

  explicit Nvml(const std::string& pci_bus_id);

  std::optional<double> hertz(Clock clock) const;  ///< now; nothing when the library is missing or does not say
  std::optional<std::string> driver_version() const;

 private:
  struct Unload {
    void operator()(void* library) const;
  };
  /// A function of the library, or null.
  template <class Function>
  Function* find(const char* name) const;

  std::unique_ptr<void, Unload> library_;
  void* gpu_ = nullptr;
};

}  // namespace syncopate::capture
