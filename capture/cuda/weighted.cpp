#include "capture/cuda/weighted.hpp"

namespace syncopate::capture {

void Weighted::add_weight_and_bias(bool channels_last) {
  add_parameter(channels_last);
  if (!layer_.attributes().bias) return;
  const CudaParameter& added = add_parameter();
  if (added.number != Number::fp32) bias_sums_ = layer_.tools.allocate(added.count() * number_bytes(Number::fp32));
}

void Weighted::sum_bias_gradient() const {
  const std::int64_t width = bias().count();
  const Rows rows = {layer_.output_elements() / width, width};
  if (bias().number == Number::fp32) return sum_columns(queue(), layer_.output_gradient, rows, bias().gradient.as<float>());
  sum_columns(queue(), layer_.output_gradient, rows, bias_sums_.as<float>());
  convert(queue().stream, bias_sums_.data(), Number::fp32, bias().gradient.data(), bias().number, width);
}

}  // namespace syncopate::capture
