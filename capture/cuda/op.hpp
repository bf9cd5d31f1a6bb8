#pragma once

#include <cublas_v2.h>
#include <cudnn.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capture/cuda/engine_pass.hpp"
#include "capture/cuda/handles.hpp"
#include "capture/cuda/kernels.hpp"
#include "capture/cuda/memory.hpp"
#include "capture/network.hpp"

namespace syncopate::capture {

/// Rotations [tokens, pairs] on the device, by these extents: all layers share them, as in frameworks.
using RotationTables = std::map<std::pair<std::int64_t, std::int64_t>, DeviceMemory>;

/// What all ops of a network work with.
struct CudaTools {
  cudaStream_t stream = nullptr;
  CudnnHandle cudnn;
  CublasHandle cublas;
  CublasLtHandle cublas_lt;
  Number number = Number::fp32;  ///< of activations
  bool tf32 = false;             ///< products may round fp32 to 10 bits of mantissa
  DeviceMemory workspace;        ///< scratch memory of the library call that runs
  std::shared_ptr<EngineUses> engine_uses = std::make_shared<EngineUses>();
  std::shared_ptr<RotationTables> rotations = std::make_shared<RotationTables>();

  Queue queue() const { return {stream, number}; }
  DeviceMemory allocate(std::int64_t bytes) const { return {bytes, stream}; }
};

cudnnDataType_t cudnn_type(Number number);

/// A trainable tensor and its gradient.
struct CudaParameter {
  Shape shape;         ///< as model/1 has it
  bool channels_last;  ///< in memory [out, height, width, in] where model/1 has [out, in, height, width]
  Number number;
  DeviceMemory value;
  DeviceMemory gradient;

  std::int64_t count() const { return elements(shape); }
};

/// What an op on the GPU works with.
struct CudaLayer {
  const CudaTools& tools;
  const Network& network;
  const ModelLayer& layer;
  std::size_t index;          ///< of the layer
  std::vector<Shape> shapes;  ///< of the inputs
  std::vector<void*> inputs;  ///< the model's input holds std::int32_t where it is a list of ids
  void* output;
  std::vector<void*> input_gradients;  ///< null where it is not needed
  void* output_gradient;               ///< null where backward does not run
  const std::uint32_t& iteration;      ///< counts from 1
  const CudaParameter* table;          ///< the weight that a tied_linear shares, else null

  const Attributes& attributes() const { return layer.attributes; }
  std::int64_t batch() const { return network.batch; }
  std::int64_t input_elements(std::size_t slot) const { return batch() * elements(shapes[slot]); }
  std::int64_t output_elements() const { return batch() * elements(layer.output); }
  /// Whether backward adds to the gradient of a shared weight.
  bool adds_to_gradient() const { return network.layers[index].adds_to_gradient; }
  std::int64_t bytes(std::int64_t count) const { return count * number_bytes(tools.number); }
  bool channels_last() const { return network.layout == Layout::channels_last; }
  /// Of [channels, height, width].
  Image image(const Shape& shape) const;
  /// Of the output: of [channels, height, width], or of all else as one pixel.
  Planes planes() const;
};

/// A layer on the GPU. backward() reads what forward() left, and overwrites the gradients of inputs and parameters. Both
/// only queue work.
class CudaOp {
 public:
  explicit CudaOp(CudaLayer layer) : layer_(std::move(layer)) {}
  virtual ~CudaOp() = default;
  /// Chooses algorithms once all ops have their memory, by trying them in the tools' workspace. Returns the bytes that they
  /// need of it from then on.
  virtual std::size_t prepare() { return 0; }
  virtual void forward() = 0;
  virtual void backward() = 0;
  /// What the libraries chose for forward, backward of data and of weights; empty for code of our own.
  virtual std::vector<std::string> kernels() const { return {}; }

  std::vector<CudaParameter>& parameters() { return parameters_; }

 protected:
  /// The next tensor of the layer.
  CudaParameter& add_parameter(bool channels_last = false);
  void zero(void* memory, std::int64_t bytes) const;
  Queue queue() const { return layer_.tools.queue(); }

  CudaLayer layer_;
  std::vector<CudaParameter> parameters_;
};

using CudaOpMaker = std::unique_ptr<CudaOp> (*)(const CudaLayer& layer);

/// The maker of a model/1 op, or null for one that the CUDA device lacks.
CudaOpMaker cuda_op(std::string_view name);

}  // namespace syncopate::capture
