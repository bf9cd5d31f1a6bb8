#include "capture/cpu/op.hpp"

namespace syncopate::capture {

using dnnl::memory;

CpuOp::Step CpuOp::copy(const memory& from, const memory& to) {
  if (from == to) return {};
  return {dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}};
}

CpuParameter& CpuOp::add_parameter(const memory::desc& desc, const memory::dims& plain_dims) {
  memory::dims strides(plain_dims.size(), 1);
  for (std::size_t i = plain_dims.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * plain_dims[i + 1];
  parameters_.push_back({new_memory(desc), new_memory(desc), {plain_dims, memory::data_type::f32, strides}});
  return parameters_.back();
}

memory::desc image_desc(std::int64_t batch, const Shape& shape) {
  return {{batch, shape[0], shape[1], shape[2]}, memory::data_type::f32, memory::format_tag::nhwc};
}

memory::desc matrix_desc(std::int64_t rows, std::int64_t width) { return {{rows, width}, memory::data_type::f32, memory::format_tag::nc}; }

memory::desc flat_desc(std::int64_t count) { return {{count}, memory::data_type::f32, memory::format_tag::a}; }

}  // namespace syncopate::capture
