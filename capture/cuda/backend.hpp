#pragma once

#include <cudnn.h>

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "capture/cuda/check.hpp"
#include "capture/engine_choice.hpp"

namespace syncopate::capture {

/// An object of cuDNN's graph interface. Attributes are set, then it is finalized, then it can be used and its attributes read.
class BackendDescriptor {
 public:
  explicit BackendDescriptor(cudnnBackendDescriptorType_t type);

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count, const void* values) const;
  void set(cudnnBackendAttributeName_t name, std::span<const std::int64_t> values) const;
  void set(cudnnBackendAttributeName_t name, const BackendDescriptor& part) const;
  /// Reads at most `most` values into `values`. Returns how many there are.
  std::int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t most, void* values) const;
  std::int64_t integer(cudnnBackendAttributeName_t name) const;
  /// An attribute that is a list of at most `most` descriptors of a type.
  std::vector<BackendDescriptor> parts(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type, std::int64_t most) const;
  void finalize() const;
  /// As finalize(), but returns an error, such as that cuDNN cannot do what the descriptor describes.
  cudnnStatus_t try_finalize() const;
  cudnnBackendDescriptor_t get() const { return handle_.get(); }

 private:
  struct Destroy {
    void operator()(void* descriptor) const { cudnnBackendDestroyDescriptor(descriptor); }
  };
  std::unique_ptr<void, Destroy> handle_;
};

/// Where a tensor's numbers are: in the device's memory, at multiples of 16 bytes; between two operations of a graph only; or in one number
/// of the host, which is read when the plan runs.
enum class TensorPlace : std::uint8_t { memory, between, host };

/// Describes a tensor. `id` names it among a plan's arguments.
BackendDescriptor describe_tensor(std::int64_t id, cudnnDataType_t type, std::span<const std::int64_t> extents,
                                  std::span<const std::int64_t> strides, TensorPlace place = TensorPlace::memory);

/// Operations that cuDNN runs as one, and what they refer to.
class BackendGraph {
 public:
  /// Keeps what operations refer to. The reference holds as long as the graph.
  const BackendDescriptor& keep(BackendDescriptor part) { return parts_.emplace_back(std::move(part)); }
  /// Adds an operation, whose attributes are set.
  void add(BackendDescriptor operation);
  const std::vector<BackendDescriptor>& operations() const { return operations_; }
  /// The graph for the GPU of `cudnn`; if that is null, for any. Not yet finalized.
  BackendDescriptor describe(cudnnHandle_t cudnn) const;

 private:
  std::list<BackendDescriptor> parts_;
  std::vector<BackendDescriptor> operations_;
};

/// A graph, prepared to run with one engine.
class EnginePlan {
 public:
  std::size_t workspace() const { return static_cast<std::size_t>(plan_.integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)); }
  cudnnStatus_t run(cudnnHandle_t cudnn, const BackendDescriptor& arguments) const {
    return cudnnBackendExecute(cudnn, plan_.get(), arguments.get());
  }

 private:
  friend class Engines;
  explicit EnginePlan(BackendDescriptor plan) : plan_(std::move(plan)) {}
  BackendDescriptor plan_;
};

/// A tensor of a plan by its id, and its numbers.
struct PlanArgument {
  std::int64_t id;
  void* numbers;
};

/// What a plan runs on.
BackendDescriptor plan_arguments(std::span<const PlanArgument> arguments, void* workspace);

/// What cuDNN says of an engine configuration.
EngineOffer describe_engine(const BackendDescriptor& config);

/// cuDNN's offers for a graph: those of its heuristics, the most promising first, then those that should always work. None if cuDNN does
/// not support the graph.
class Engines {
 public:
  Engines(cudnnHandle_t cudnn, BackendGraph graph);

  const std::vector<EngineOffer>& offers() const { return offers_; }
  /// What cuDNN said first where it refused to offer something; empty if nothing.
  const std::string& refusal() const { return refusal_; }
  /// Builds an offer. Returns an error if that fails, as where cuDNN does not support it on this device.
  cudnnStatus_t build(std::size_t offer, std::shared_ptr<const EnginePlan>& built) const;

 private:
  void ask(cudnnBackendHeurMode_t mode);
  void refuse(cudnnStatus_t status);

  cudnnHandle_t cudnn_;
  BackendGraph graph_;
  BackendDescriptor described_;
  std::vector<BackendDescriptor> configs_;  // by offer
  std::vector<EngineOffer> offers_;
  std::string refusal_;
};

}  // namespace syncopate::capture
