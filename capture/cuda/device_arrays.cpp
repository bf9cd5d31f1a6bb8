// CudaDevice: reading and writing its arrays, and its description.
#include <fmt/format.h>

#include <algorithm>

#include "capture/cuda/device.hpp"

namespace syncopate::capture {

namespace {

/// to[sample, column, row] = from[sample, row, column].
std::vector<float> swap_last(std::span<const float> from, std::int64_t samples, std::int64_t rows, std::int64_t columns) {
  std::vector<float> to(from.size());
  auto place = from.begin();
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < columns; ++column)
        to[static_cast<std::size_t>((sample * columns + column) * rows + row)] = *place++;
    }
  }
  return to;
}

}  // namespace

CudaDevice::Place CudaDevice::place_of(void* numbers, const Shape& shape) const {
  if (shape.size() != 3) return {numbers, tools_.number, network_->batch, elements(shape), 1, false};
  return {numbers, tools_.number, network_->batch, shape[0], shape[1] * shape[2], network_->layout == Layout::channels_last};
}

CudaDevice::Place CudaDevice::find(const Array& array) {
  switch (array.kind) {
    case Array::Kind::input: return place_of(input_.data(), network_->model.input);
    case Array::Kind::output: return place_of(outputs_[array.layer], network_->shape(array.layer));
    case Array::Kind::output_gradient:
      return place_of(gradient(network_->layers[array.layer].output_gradient), network_->shape(array.layer));
    case Array::Kind::input_gradient:
      return place_of(gradient(network_->layers[array.layer].input_gradients[array.index]),
                      network_->shape(network_->model.layers[array.layer].inputs[array.index]));
    case Array::Kind::parameter:
    case Array::Kind::parameter_gradient: break;
  }
  const CudaParameter& found = ops_[array.layer]->parameters()[array.index];
  const DeviceMemory& memory = array.kind == Array::Kind::parameter ? found.value : found.gradient;
  const std::int64_t channels = found.shape.size() > 1 ? found.shape[1] : 1;
  return {memory.data(), found.number, found.shape[0], channels, found.count() / found.shape[0] / channels, found.channels_last};
}

std::vector<float> CudaDevice::read(const Array& array) {
  const Place place = find(array);
  const auto count = static_cast<std::size_t>(place.count());
  std::vector<float> values(count);
  if (array.kind == Array::Kind::input && input_is_ids()) {
    std::vector<std::int32_t> ids(count);
    copy_to_host(ids.data(), place.numbers, count * sizeof(std::int32_t), tools_.stream);
    std::transform(ids.begin(), ids.end(), values.begin(), [](std::int32_t id) { return static_cast<float>(id); });
    return values;
  }
  const DeviceMemory converted = tools_.allocate(place.count() * number_bytes(Number::fp32));
  convert(tools_.stream, place.numbers, place.number, converted.data(), Number::fp32, place.count());
  copy_to_host(values.data(), converted.data(), converted.bytes(), tools_.stream);
  return place.channels_last ? swap_last(values, place.samples, place.pixels, place.channels) : values;
}

void CudaDevice::write(const Array& array, std::span<const float> values) {
  const Place place = find(array);
  if (array.kind == Array::Kind::input && input_is_ids()) {
    std::vector<std::int32_t> ids(values.size());
    std::transform(values.begin(), values.end(), ids.begin(), [](float id) { return static_cast<std::int32_t>(id); });
    return copy_to_device(place.numbers, ids.data(), ids.size() * sizeof(std::int32_t), tools_.stream);
  }
  std::vector<float> reordered;
  if (place.channels_last) {
    reordered = swap_last(values, place.samples, place.channels, place.pixels);
    values = reordered;
  }
  if (array.kind == Array::Kind::parameter) {
    const Descent& descent = descents_[first_descent_[array.layer] + array.index];
    copy_to_device(descent.master, values.data(), values.size_bytes(), tools_.stream);
    if (descent.master != descent.value) convert(tools_.stream, descent.master, Number::fp32, descent.value, descent.number, descent.count);
    return;
  }
  const DeviceMemory plain = tools_.allocate(place.count() * number_bytes(Number::fp32));
  copy_to_device(plain.data(), values.data(), values.size_bytes(), tools_.stream);
  convert(tools_.stream, plain.data(), Number::fp32, place.numbers, place.number, place.count());
  check(cudaStreamSynchronize(tools_.stream), "cudaStreamSynchronize");
}

double CudaDevice::loss() {
  double value = 0;
  copy_to_host(&value, loss_.data(), sizeof(value), tools_.stream);
  return value;
}

DeviceDescription CudaDevice::describe() const {
  DeviceDescription description = gpu_.describe();
  description.software["cudnn"] = cudnn_version(cudnnGetVersion());
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    const std::vector<std::string> kernels = ops_[i]->kernels();
    if (!kernels.empty()) description.kernels[network_->model.layers[i].name] = kernels;
  }
  return description;
}

}  // namespace syncopate::capture
