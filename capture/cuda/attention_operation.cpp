#include "capture/cuda/attention_operation.hpp"

#include <array>

namespace syncopate::capture {

#if CUDNN_VERSION >= 91900

namespace {

/// An attribute of the operation, and the tensor that it is.
struct Role {
  cudnnBackendAttributeName_t attribute;
  AttentionTensor tensor;
};

constexpr std::array<Role, 6> forward_roles = {{{CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, AttentionTensor::query},
                                                {CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, AttentionTensor::key},
                                                {CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, AttentionTensor::value},
                                                {CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, AttentionTensor::output},
                                                {CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC, AttentionTensor::statistics},
                                                {CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, AttentionTensor::scale}}};

constexpr std::array<Role, 10> backward_roles = {{{CUDNN_ATTR_OPERATION_SDPA_BWD_QDESC, AttentionTensor::query},
                                                  {CUDNN_ATTR_OPERATION_SDPA_BWD_KDESC, AttentionTensor::key},
                                                  {CUDNN_ATTR_OPERATION_SDPA_BWD_VDESC, AttentionTensor::value},
                                                  {CUDNN_ATTR_OPERATION_SDPA_BWD_ODESC, AttentionTensor::output},
                                                  {CUDNN_ATTR_OPERATION_SDPA_BWD_STATSDESC, AttentionTensor::statistics},
                                                  {CUDNN_ATTR_OPERATION_SDPA_BWD_SCALEDESC, AttentionTensor::scale},
                                                  {CUDNN_ATTR_OPERATION_SDPA_BWD_DQDESC, AttentionTensor::query_gradient},
                                                  {CUDNN_ATTR_OPERATION_SDPA_BWD_DKDESC, AttentionTensor::key_gradient},
                                                  {CUDNN_ATTR_OPERATION_SDPA_BWD_DVDESC, AttentionTensor::value_gradient},
                                                  {CUDNN_ATTR_OPERATION_SDPA_BWD_DODDESC, AttentionTensor::output_gradient}}};

BackendDescriptor describe(AttentionTensor tensor, const AttentionExtents& e) {
  const auto id = static_cast<std::int64_t>(tensor);
  using Four = std::array<std::int64_t, 4>;  // samples, heads, tokens, depth
  if (tensor == AttentionTensor::scale) return describe_tensor(id, CUDNN_DATA_FLOAT, Four{1, 1, 1, 1}, Four{1, 1, 1, 1}, true);
  if (tensor == AttentionTensor::statistics)
    return describe_tensor(id, CUDNN_DATA_FLOAT, Four{e.samples, e.heads, e.tokens, 1}, Four{e.heads * e.tokens, e.tokens, 1, 1});
  const std::int64_t width = e.heads * e.depth;
  return describe_tensor(id, e.type, Four{e.samples, e.heads, e.tokens, e.depth}, Four{e.tokens * width, e.depth, width, 1});
}

template <class Roles>
BackendOperation operation_of(cudnnBackendDescriptorType_t type, const Roles& roles, const AttentionExtents& extents) {
  BackendOperation operation = {BackendDescriptor(type), {}};
  for (const Role& role : roles) operation.set(role.attribute, describe(role.tensor, extents));
  return operation;
}

}  // namespace

std::optional<BackendOperation> attention_operation(const AttentionExtents& extents) {
  return operation_of(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, forward_roles, extents);
}

std::optional<BackendOperation> attention_backward_operation(const AttentionExtents& extents) {
  return operation_of(CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR, backward_roles, extents);
}

#else

std::optional<BackendOperation> attention_operation(const AttentionExtents& /*extents*/) { return std::nullopt; }
std::optional<BackendOperation> attention_backward_operation(const AttentionExtents& /*extents*/) { return std::nullopt; }

#endif

}  // namespace syncopate::capture
