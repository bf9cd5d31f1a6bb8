#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "capture/cuda/gpu.hpp"
#include "capture/cuda/loss.hpp"
#include "capture/cuda/op.hpp"
#include "capture/device.hpp"

namespace syncopate::capture {

/// An NVIDIA GPU, counted from 0 among those that CUDA_VISIBLE_DEVICES allows, through cuDNN and cuBLAS in one stream. Ops that these lack,
/// and those that frameworks do not leave to them, are kernels of our own.
class CudaDevice : public Device {
 public:
  /// Throws DeviceError when there is no GPU that can be used.
  explicit CudaDevice(int gpu = 0);

  void set_up(const Network& network) override;
  void begin(Run run) override;
  void forward(std::size_t layer) override;
  void backward(std::size_t layer) override;
  void update() override;
  void mark() override;
  std::vector<Seconds> collect() override;
  std::vector<float> read(const Array& array) override;
  void write(const Array& array, std::span<const float> values) override;
  double loss() override;
  bool asynchronous() const override { return true; }
  DeviceDescription describe() const override;

 private:
  using HostClock = std::chrono::steady_clock;

  /// Numbers on the device: [samples, channels, pixels], or with the last two swapped.
  struct Place {
    void* numbers;
    Number number;
    std::int64_t samples;
    std::int64_t channels;
    std::int64_t pixels;
    bool channels_last;

    std::int64_t count() const { return samples * channels * pixels; }
  };

  void build();
  void add_layer(std::size_t index);
  void add_loss(std::size_t head);
  void fill(const DeviceMemory& memory) const;
  void prepare_ops();
  void prepare_update();
  CudaLayer layer_context(std::size_t index);
  void* output(std::size_t layer) { return layer == Model::input_layer ? input_.data() : outputs_[layer]; }
  void* gradient(std::size_t buffer);
  Place find(const Array& array);
  Place place_of(void* numbers, const Shape& shape) const;
  void end_graph();
  void hold();
  void wait_for_host();
  bool input_is_ids() const { return network_->largest_id > 0; }

  Gpu gpu_;
  CudaTools tools_;
  const Network* network_ = nullptr;
  DeviceMemory input_;
  DeviceMemory activations_;
  DeviceMemory gradients_;
  DeviceMemory loss_;
  std::vector<void*> outputs_;
  std::vector<std::unique_ptr<CudaOp>> ops_;
  std::vector<std::vector<const void*>> contributions_;  // by layer; empty where there is nothing to sum
  std::vector<CudaLoss> losses_;
  std::vector<Descent> descents_;           // by parameter
  std::vector<std::size_t> first_descent_;  // by layer
  std::vector<DeviceMemory> optimizer_memory_;
  DeviceMemory device_descents_;
  DeviceMemory descent_pieces_;
  std::int64_t descent_piece_count_ = 0;
  std::uint32_t iteration_ = 0;
  int updates_ = 0;
  std::vector<EventHandle> marks_;
  std::size_t marked_ = 0;
  Run run_ = Run::free;                  // of this iteration
  GraphHandle graph_;                    // of this iteration, once it is described
  std::vector<std::size_t> held_after_;  // marks
  std::vector<EventHandle> resumed_;     // recorded at the end of each hold
  HostClock::time_point begun_;
  HostClock::time_point queued_;                      // when this iteration's first stretch had been queued
  std::optional<std::chrono::nanoseconds> queueing_;  // the shortest time that the host took to queue a stretch
};

/// Throws DeviceError when there is no GPU that can be used.
std::unique_ptr<Device> make_cuda(int gpu = 0);

}  // namespace syncopate::capture
