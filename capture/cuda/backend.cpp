#include "capture/cuda/backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace syncopate::capture {

BackendDescriptor::BackendDescriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t handle = nullptr;
  check(cudnnBackendCreateDescriptor(type, &handle), "cudnnBackendCreateDescriptor");
  handle_.reset(handle);
}

void BackendDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                            const void* values) const {
  check(cudnnBackendSetAttribute(get(), name, type, count, values), "cudnnBackendSetAttribute");
}

void BackendDescriptor::set(cudnnBackendAttributeName_t name, std::span<const std::int64_t> values) const {
  set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
}

void BackendDescriptor::set(cudnnBackendAttributeName_t name, const BackendDescriptor& part) const {
  cudnnBackendDescriptor_t handle = part.get();
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &handle);
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

std::vector<BackendDescriptor> BackendDescriptor::parts(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type,
                                                        std::int64_t most) const {
  std::vector<BackendDescriptor> parts;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (std::int64_t i = 0; i < most; ++i) handles.push_back(parts.emplace_back(type).get());
  const std::int64_t read = most == 0 ? 0 : get(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, handles.data());
  parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(std::min(read, most)), parts.end());
  return parts;
}

void BackendDescriptor::finalize() const { check(cudnnBackendFinalize(get()), "cudnnBackendFinalize"); }

cudnnStatus_t BackendDescriptor::try_finalize() const { return cudnnBackendFinalize(get()); }

BackendDescriptor describe_tensor(std::int64_t id, cudnnDataType_t type, std::span<const std::int64_t> extents,
                                  std::span<const std::int64_t> strides, TensorPlace place) {
  constexpr std::int64_t alignment = 16;
  const bool between = place == TensorPlace::between;
  const bool on_host = place == TensorPlace::host;
  BackendDescriptor descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  descriptor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  descriptor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, extents);
  descriptor.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
  descriptor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, {&id, 1});
  descriptor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {&alignment, 1});
  descriptor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &between);
  descriptor.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &on_host);
  descriptor.finalize();
  return descriptor;
}

void BackendGraph::add(BackendDescriptor operation) {
  operation.finalize();
  operations_.push_back(std::move(operation));
}

BackendDescriptor BackendGraph::describe(cudnnHandle_t cudnn) const {
  std::vector<cudnnBackendDescriptor_t> operations;
  for (const BackendDescriptor& operation : operations_) operations.push_back(operation.get());
  BackendDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(operations.size()), operations.data());
  if (cudnn != nullptr) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &cudnn);
  return graph;
}

BackendDescriptor plan_arguments(std::span<const PlanArgument> arguments, void* workspace) {
  std::vector<std::int64_t> ids;
  std::vector<void*> addresses;
  for (const PlanArgument& argument : arguments) {
    ids.push_back(argument.id);
    addresses.push_back(argument.numbers);
  }
  BackendDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, static_cast<std::int64_t>(addresses.size()), addresses.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  pack.finalize();
  return pack;
}

EngineOffer describe_engine(const BackendDescriptor& config) {
  EngineOffer offer;
  const std::vector<BackendDescriptor> engines = config.parts(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
  const BackendDescriptor& engine = engines.at(0);
  offer.name = fmt::format("engine {}", engine.integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  for (const BackendDescriptor& knob :
       config.parts(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS)) {
    cudnnBackendKnobType_t type = {};
    knob.get(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &type);
    offer.name += fmt::format(" {}={}", static_cast<int>(type), knob.integer(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
  }
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes = {};
  const std::int64_t count = engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, notes.size(), notes.data());
  for (const cudnnBackendNumericalNote_t note : std::span(notes).first(std::min(static_cast<std::size_t>(count), notes.size()))) {
    offer.tensor_cores = offer.tensor_cores || note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    offer.rounds_inputs = offer.rounds_inputs || note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS;
  }
  return offer;
}

Engines::Engines(cudnnHandle_t cudnn, BackendGraph graph) : cudnn_(cudnn), graph_(std::move(graph)), described_(graph_.describe(cudnn)) {
  const cudnnStatus_t status = described_.try_finalize();
  if (CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED) {
    refuse(status);
    return;
  }
  check(status, "cudnnBackendFinalize");
  ask(CUDNN_HEUR_MODE_INSTANT);
  ask(CUDNN_HEUR_MODE_FALLBACK);
}

void Engines::ask(cudnnBackendHeurMode_t mode) {
  const BackendDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, described_);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  if (const cudnnStatus_t status = heuristics.try_finalize(); status != CUDNN_STATUS_SUCCESS) return refuse(status);
  const std::int64_t count = heuristics.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
  for (BackendDescriptor& config : heuristics.parts(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, count)) {
    offers_.push_back(describe_engine(config));
    configs_.push_back(std::move(config));
  }
}

void Engines::refuse(cudnnStatus_t status) {
  if (refusal_.empty()) refusal_ = describe(status);
}

cudnnStatus_t Engines::build(std::size_t offer, std::shared_ptr<const EnginePlan>& built) const {
  BackendDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configs_.at(offer));
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &cudnn_);
  const cudnnStatus_t status = plan.try_finalize();
  if (status == CUDNN_STATUS_SUCCESS) built = std::shared_ptr<const EnginePlan>(new EnginePlan(std::move(plan)));
  return status;
}

}  // namespace syncopate::capture
