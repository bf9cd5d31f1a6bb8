#include "capture/cuda/convolution_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace syncopate::capture {

namespace {

// Names of the tensors among a plan's arguments.
constexpr std::int64_t input_id = 'x';
constexpr std::int64_t filter_id = 'w';
constexpr std::int64_t output_id = 'y';

constexpr float one = 1.0F;
constexpr float none = 0.0F;

void set_integers(const BackendDescriptor& descriptor, cudnnBackendAttributeName_t name, std::span<const std::int64_t> values) {
  descriptor.set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
}

void set_part(const BackendDescriptor& descriptor, cudnnBackendAttributeName_t name, const BackendDescriptor& part) {
  cudnnBackendDescriptor_t handle = part.get();
  descriptor.set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &handle);
}

BackendDescriptor tensor(std::int64_t id, const std::array<std::int64_t, 4>& extents, const ConvolutionExtents& convolution) {
  constexpr std::int64_t alignment = 16;
  const std::int64_t channels = extents[1];
  const std::int64_t height = extents[2];
  const std::int64_t width = extents[3];
  const std::array<std::int64_t, 4> first = {channels * height * width, height * width, width, 1};
  const std::array<std::int64_t, 4> last = {channels * height * width, 1, width * channels, channels};
  BackendDescriptor descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  descriptor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &convolution.type);
  set_integers(descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS, extents);
  set_integers(descriptor, CUDNN_ATTR_TENSOR_STRIDES, convolution.channels_last ? last : first);
  set_integers(descriptor, CUDNN_ATTR_TENSOR_UNIQUE_ID, {&id, 1});
  set_integers(descriptor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {&alignment, 1});
  descriptor.finalize();
  return descriptor;
}

BackendDescriptor steps(const ConvolutionExtents& convolution) {
  constexpr cudnnDataType_t sums = CUDNN_DATA_FLOAT;
  constexpr cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  constexpr std::int64_t dimensions = 2;
  constexpr std::array<std::int64_t, 2> dense = {1, 1};
  BackendDescriptor descriptor(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  descriptor.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &sums);
  descriptor.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  set_integers(descriptor, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {&dimensions, 1});
  set_integers(descriptor, CUDNN_ATTR_CONVOLUTION_DILATIONS, dense);
  set_integers(descriptor, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, convolution.stride);
  set_integers(descriptor, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, convolution.pad);
  set_integers(descriptor, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, convolution.pad);
  descriptor.finalize();
  return descriptor;
}

/// cuDNN's names for a pass.
struct PassNames {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t input;
  cudnnBackendAttributeName_t filter;
  cudnnBackendAttributeName_t output;
  cudnnBackendAttributeName_t steps;
  cudnnBackendAttributeName_t alpha;
  cudnnBackendAttributeName_t beta;
};

PassNames names_of(ConvolutionPass pass) {
  switch (pass) {
    case ConvolutionPass::forward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case ConvolutionPass::backward_data:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case ConvolutionPass::backward_filter: break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
}

/// Reads an attribute that is a list of at most `most` descriptors of a type.
std::vector<BackendDescriptor> read_parts(const BackendDescriptor& descriptor, cudnnBackendAttributeName_t name,
                                          cudnnBackendDescriptorType_t type, std::int64_t most) {
  std::vector<BackendDescriptor> parts;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (std::int64_t i = 0; i < most; ++i) handles.push_back(parts.emplace_back(type).get());
  const std::int64_t read = most == 0 ? 0 : descriptor.get(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, handles.data());
  parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(std::min(read, most)), parts.end());
  return parts;
}

EngineOffer describe_engine(const BackendDescriptor& config) {
  EngineOffer offer;
  const std::vector<BackendDescriptor> engines = read_parts(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
  const BackendDescriptor& engine = engines.at(0);
  offer.name = fmt::format("engine {}", engine.integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  for (const BackendDescriptor& knob :
       read_parts(config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS)) {
    cudnnBackendKnobType_t type = {};
    knob.get(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &type);
    offer.name += fmt::format(" {}={}", static_cast<int>(type), knob.integer(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
  }
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes = {};
  const std::int64_t count = engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, notes.size(), notes.data());
  for (const cudnnBackendNumericalNote_t note : std::span(notes).first(static_cast<std::size_t>(count))) {
    offer.tensor_cores = offer.tensor_cores || note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    offer.rounds_inputs = offer.rounds_inputs || note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS;
  }
  return offer;
}

}  // namespace

BackendDescriptor::BackendDescriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t handle = nullptr;
  check(cudnnBackendCreateDescriptor(type, &handle), "cudnnBackendCreateDescriptor");
  handle_.reset(handle);
}

void BackendDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                            const void* values) const {
  check(cudnnBackendSetAttribute(get(), name, type, count, values), "cudnnBackendSetAttribute");
}

std::int64_t BackendDescriptor::get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t most,
                                    void* values) const {
  std::int64_t count = 0;
  check(cudnnBackendGetAttribute(get(), name, type, most, &count, values), "cudnnBackendGetAttribute");
  return count;
}

std::int64_t BackendDescriptor::integer(cudnnBackendAttributeName_t name) const {
  std::int64_t value = 0;
  get(name, CUDNN_TYPE_INT64, 1, &value);
  return value;
}

void BackendDescriptor::finalize() const { check(cudnnBackendFinalize(get()), "cudnnBackendFinalize"); }

bool BackendDescriptor::try_finalize() const { return cudnnBackendFinalize(get()) == CUDNN_STATUS_SUCCESS; }

BackendDescriptor plan_arguments(const ConvolutionPointers& pointers, void* workspace) {
  constexpr std::array<std::int64_t, 3> ids = {input_id, filter_id, output_id};
  std::array<void*, 3> addresses = {pointers.input, pointers.filter, pointers.output};
  BackendDescriptor arguments(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  set_integers(arguments, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  arguments.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, addresses.size(), addresses.data());
  arguments.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  arguments.finalize();
  return arguments;
}

ConvolutionEngines::ConvolutionEngines(cudnnHandle_t cudnn, ConvolutionPass pass, const ConvolutionExtents& extents) : cudnn_(cudnn) {
  const PassNames names = names_of(pass);
  parts_.push_back(tensor(input_id, extents.input, extents));
  parts_.push_back(tensor(filter_id, extents.filter, extents));
  parts_.push_back(tensor(output_id, extents.output, extents));
  parts_.push_back(steps(extents));
  BackendDescriptor operation(names.operation);
  set_part(operation, names.input, parts_[0]);
  set_part(operation, names.filter, parts_[1]);
  set_part(operation, names.output, parts_[2]);
  set_part(operation, names.steps, parts_[3]);
  operation.set(names.alpha, CUDNN_TYPE_FLOAT, 1, &one);
  operation.set(names.beta, CUDNN_TYPE_FLOAT, 1, &none);
  operation.finalize();
  set_part(graph_, CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &cudnn_);
  graph_.finalize();
  parts_.push_back(std::move(operation));
  ask(CUDNN_HEUR_MODE_INSTANT);
  ask(CUDNN_HEUR_MODE_FALLBACK);
}

void ConvolutionEngines::ask(cudnnBackendHeurMode_t mode) {
  const BackendDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  set_part(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  if (!heuristics.try_finalize()) return;
  const std::int64_t count = heuristics.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
  for (BackendDescriptor& config : read_parts(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, count)) {
    offers_.push_back(describe_engine(config));
    configs_.push_back(std::move(config));
  }
}

std::shared_ptr<const ConvolutionPlan> ConvolutionEngines::build(std::size_t offer) const {
  BackendDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  set_part(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configs_.at(offer));
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &cudnn_);
  if (!plan.try_finalize()) return nullptr;
  return std::shared_ptr<const ConvolutionPlan>(new ConvolutionPlan(std::move(plan)));
}

}  // namespace syncopate::capture
