#pragma once

#include <cudnn.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "capture/cuda/handles.hpp"
#include "capture/engine_choice.hpp"

namespace syncopate::capture {

/// An object of cuDNN's graph interface. Attributes are set, then it is finalized, then it can be used and its attributes read.
class BackendDescriptor {
 public:
  explicit BackendDescriptor(cudnnBackendDescriptorType_t type);

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count, const void* values) const;
  /// Reads at most `most` values into `values`. Returns how many there are.
  std::int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t most, void* values) const;
  std::int64_t integer(cudnnBackendAttributeName_t name) const;
  void finalize() const;
  /// As finalize(), but returns false if cuDNN cannot do what the descriptor describes.
  bool try_finalize() const;
  cudnnBackendDescriptor_t get() const { return handle_.get(); }

 private:
  struct Destroy {
    void operator()(void* descriptor) const { cudnnBackendDestroyDescriptor(descriptor); }
  };
  std::unique_ptr<void, Destroy> handle_;
};

enum class ConvolutionPass : std::uint8_t { forward, backward_data, backward_filter };

/// A convolution's tensors and steps.
struct ConvolutionExtents {
  cudnnDataType_t type;                ///< of all tensors; sums are in fp32
  bool channels_last;                  ///< of all tensors in memory
  std::array<std::int64_t, 4> input;   ///< samples, channels, height, width
  std::array<std::int64_t, 4> filter;  ///< output channels, input channels of a group, height, width
  std::array<std::int64_t, 4> output;  ///< as input
  std::array<std::int64_t, 2> pad;     ///< vertical, horizontal
  std::array<std::int64_t, 2> stride;
};

/// Input, filter and output of a convolution, or the gradients of those that the pass computes.
struct ConvolutionPointers {
  void* input;
  void* filter;
  void* output;
};

/// One pass of a convolution, prepared to run with one engine.
class ConvolutionPlan {
 public:
  std::size_t workspace() const { return static_cast<std::size_t>(plan_.integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)); }
  cudnnStatus_t run(cudnnHandle_t cudnn, const BackendDescriptor& arguments) const {
    return cudnnBackendExecute(cudnn, plan_.get(), arguments.get());
  }

 private:
  friend class ConvolutionEngines;
  explicit ConvolutionPlan(BackendDescriptor plan) : plan_(std::move(plan)) {}
  BackendDescriptor plan_;
};

/// What a plan runs on.
BackendDescriptor plan_arguments(const ConvolutionPointers& pointers, void* workspace);

/// cuDNN's offers for one pass of a convolution: those of its heuristics, the most promising first, then those that should always work.
class ConvolutionEngines {
 public:
  ConvolutionEngines(cudnnHandle_t cudnn, ConvolutionPass pass, const ConvolutionExtents& extents);

  const std::vector<EngineOffer>& offers() const { return offers_; }
  /// Null if cuDNN does not support the offer.
  std::shared_ptr<const ConvolutionPlan> build(std::size_t offer) const;

 private:
  void ask(cudnnBackendHeurMode_t mode);

  cudnnHandle_t cudnn_;
  std::vector<BackendDescriptor> parts_;  // of the operation; cuDNN's descriptors may refer to them
  BackendDescriptor graph_{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
  std::vector<BackendDescriptor> configs_;  // by offer
  std::vector<EngineOffer> offers_;
};

}  // namespace syncopate::capture
