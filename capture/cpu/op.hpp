#pragma once

#include <dnnl.hpp>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/network.hpp"

namespace syncopate::capture {

/// A trainable tensor in the layout that its op wants, and its gradient in the same layout.
struct CpuParameter {
  dnnl::memory value;
  dnnl::memory gradient;
  dnnl::memory::desc plain;  ///< how model/1 lays it out
};

/// What an op on the CPU works with. Images are NHWC, everything else as model/1 has it, all in fp32.
struct CpuLayer {
  const dnnl::engine& engine;
  dnnl::stream& stream;
  const ModelLayer& layer;
  std::size_t index;  ///< of the layer
  std::int64_t batch;
  std::vector<Shape> shapes;  ///< of the inputs
  std::vector<float*> inputs;
  float* output;
  std::vector<float*> input_gradients;  ///< null where it is not needed
  float* output_gradient;               ///< null where backward does not run
  const std::uint32_t& iteration;       ///< counts from 1
  const CpuParameter* table;            ///< the weight that a tied_linear shares, else null
  bool adds_to_gradient;                ///< to that of a shared weight, as NetworkLayer has it

  const Attributes& attributes() const { return layer.attributes; }
  std::int64_t input_elements(std::size_t slot) const { return batch * elements(shapes[slot]); }
  std::int64_t output_elements() const { return batch * elements(layer.output); }
  /// Rows of the last extent in memory: pixels or tokens of the whole batch.
  std::int64_t rows() const { return output_elements() / width(layer.output); }
  static std::int64_t width(const Shape& shape) { return shape.size() == 3 ? shape[0] : shape.back(); }
};

/// A layer on the CPU. backward() reads what forward() left, and overwrites the gradients of inputs and parameters.
class CpuOp {
 public:
  using Arguments = std::unordered_map<int, dnnl::memory>;

  /// A primitive and what it works on.
  struct Step {
    dnnl::primitive primitive;
    Arguments arguments;
  };

  explicit CpuOp(CpuLayer layer) : layer_(std::move(layer)) {}
  virtual ~CpuOp() = default;
  virtual void forward() = 0;
  virtual void backward() = 0;
  /// What the library chose for forward, backward of data and of weights; empty for code of our own.
  virtual std::vector<std::string> kernels() const { return {}; }

  std::vector<CpuParameter>& parameters() { return parameters_; }

 protected:
  dnnl::memory view(const dnnl::memory::desc& desc, float* data) const { return {desc, layer_.engine, data}; }
  dnnl::memory new_memory(const dnnl::memory::desc& desc) const { return {desc, layer_.engine}; }
  void run(const dnnl::primitive& primitive, const Arguments& arguments) const { primitive.execute(layer_.stream, arguments); }
  /// Does nothing without a primitive.
  void run(const Step& step) const {
    if (step.primitive) run(step.primitive, step.arguments);
  }
  /// Into another layout; no primitive where both are one.
  static Step copy(const dnnl::memory& from, const dnnl::memory& to);
  /// The next tensor of the layer, kept as `desc` says; `plain_dims` are its extents there, e.g. with a group's in front.
  CpuParameter& add_parameter(const dnnl::memory::desc& desc, const dnnl::memory::dims& plain_dims);
  static float* data(const dnnl::memory& memory) { return static_cast<float*>(memory.get_data_handle()); }

  CpuLayer layer_;
  std::vector<CpuParameter> parameters_;
};

/// An op that is one primitive of oneDNN's forward and one backward.
class PrimitiveOp : public CpuOp {
 public:
  using CpuOp::CpuOp;
  void forward() override { run(forward_, forward_arguments_); }
  void backward() override {
    if (backward_) run(backward_, backward_arguments_);
  }
  std::vector<std::string> kernels() const override { return kernels_; }

 protected:
  bool has_backward() const { return layer_.input_gradients[0] != nullptr; }

  dnnl::primitive forward_;
  dnnl::primitive backward_;
  Arguments forward_arguments_;
  Arguments backward_arguments_;
  std::vector<std::string> kernels_ = {"", "", ""};
};

using CpuOpMaker = std::unique_ptr<CpuOp> (*)(const CpuLayer& layer);

/// The maker of a model/1 op, or null for one that the CPU device lacks.
CpuOpMaker cpu_op(std::string_view name);

/// [channels, height, width] of a batch, as NHWC.
dnnl::memory::desc image_desc(std::int64_t batch, const Shape& shape);
/// `rows` times `width` numbers.
dnnl::memory::desc matrix_desc(std::int64_t rows, std::int64_t width);
/// `count` numbers.
dnnl::memory::desc flat_desc(std::int64_t count);

}  // namespace syncopate::capture
