#include "capture/random_values.hpp"

#include <algorithm>
#include <cmath>

#include "base/random.hpp"

namespace syncopate::capture {

namespace {

enum class Stream : std::uint32_t { labels = 1, input, parameters, numbers };

/// Fills `values` with make(word). The random words depend on (stream, index) only.
template <class Value, class Make>
void draw(std::vector<Value>& values, Stream stream, std::uint64_t index, Make make) {
  for (std::size_t first = 0; first < values.size(); first += 4) {
    const auto words =
        philox4x32({static_cast<std::uint32_t>(first / 4), static_cast<std::uint32_t>(static_cast<std::uint64_t>(first / 4) >> 32U),
                    static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32U)},
                   {static_cast<std::uint32_t>(stream), 0});
    for (std::size_t i = first; i < std::min(first + 4, values.size()); ++i) values[i] = make(words[i - first]);
  }
}

/// Uniform with mean 0 and the given standard deviation. Never returns 0.
auto uniform(double deviation) {
  const double scale = deviation * std::sqrt(12.0) * 0x1p-32;
  return [scale](std::uint32_t word) { return static_cast<float>((word - 0x1p31 + 0.5) * scale); };
}

auto below(std::int64_t limit) {
  return [limit](std::uint32_t word) { return static_cast<std::int64_t>(word * static_cast<double>(limit) * 0x1p-32); };
}

}  // namespace

std::vector<std::int64_t> random_labels(std::int64_t rows, std::int64_t classes) {
  std::vector<std::int64_t> labels(static_cast<std::size_t>(rows));
  draw(labels, Stream::labels, 0, below(classes));
  return labels;
}

std::vector<float> random_numbers(std::int64_t count) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  draw(numbers, Stream::numbers, 0, uniform(1.0));
  return numbers;
}

std::vector<float> random_input(const Network& network) {
  std::vector<float> input(static_cast<std::size_t>(network.input_elements));
  if (network.largest_id > 0) {
    draw(input, Stream::input, 0, [id = below(network.largest_id)](std::uint32_t word) { return static_cast<float>(id(word)); });
  } else {
    draw(input, Stream::input, 0, uniform(1.0));
  }
  return input;
}

std::vector<float> initial_values(const ModelLayer& layer, std::size_t layer_index, std::size_t tensor) {
  const Shape& shape = layer.tensors[tensor].shape;
  std::vector<float> values(static_cast<std::size_t>(elements(shape)));
  if (shape.size() == 1) {
    const bool scale = layer.op->cost_class == CostClass::normalization && tensor == 0;
    std::fill(values.begin(), values.end(), scale ? 1.0F : 0.0F);
    return values;
  }
  const double fan_in = static_cast<double>(elements(shape)) / static_cast<double>(shape.front());
  const double deviation = layer.op->name == "embedding" ? 1.0 : std::sqrt(2.0 / fan_in);
  draw(values, Stream::parameters, 256 * layer_index + tensor, uniform(deviation));
  return values;
}

}  // namespace syncopate::capture
