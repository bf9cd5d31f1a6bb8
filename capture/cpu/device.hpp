#pragma once

#include <dnnl.hpp>
#include <memory>
#include <vector>

#include "capture/cpu/loss.hpp"
#include "capture/cpu/op.hpp"
#include "capture/device.hpp"

namespace syncopate::capture {

/// The processor, through oneDNN, in fp32 and NHWC. One thread is timed by its CPU time, which leaves other processes out; several
/// threads are timed by the wall clock.
class CpuDevice : public Device {
 public:
  explicit CpuDevice(int threads);

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
  bool asynchronous() const override { return false; }
  DeviceDescription describe() const override;

 private:
  struct FreeMemory {
    void operator()(float* memory) const;
  };
  using Block = std::unique_ptr<float, FreeMemory>;

  static Block allocate(std::int64_t elements);
  void build();
  CpuLayer layer_context(std::size_t index);
  float* output(std::size_t layer) { return layer == Model::input_layer ? input_.get() : outputs_[layer]; }
  float* gradient(std::size_t buffer);
  CpuOp::Step sum_of(const NetworkLayer& layer);
  /// Where an activation or its gradient lies, and the shape of its sample.
  std::pair<float*, Shape> find(const Array& array);
  const CpuParameter& parameter(const Array& array) { return ops_[array.layer]->parameters()[array.index]; }

  int threads_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  const Network* network_ = nullptr;
  Block input_;
  Block activations_;
  Block gradients_;
  std::vector<float*> outputs_;
  std::vector<std::unique_ptr<CpuOp>> ops_;
  std::vector<CpuOp::Step> sums_;  // by layer; without a primitive where there is nothing to sum
  std::vector<CpuLoss> losses_;
  std::vector<std::vector<std::vector<float>>> states_;  // the optimizer's, by parameter
  int updates_ = 0;
  std::uint32_t iteration_ = 0;
  std::vector<Seconds> marks_;
};

}  // namespace syncopate::capture
