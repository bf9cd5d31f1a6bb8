#pragma once

#include <cstdint>
#include <vector>

#include "capture/network.hpp"

namespace syncopate::capture {

/// A random class for each row.
std::vector<std::int64_t> random_labels(std::int64_t rows, std::int64_t classes);

/// Random numbers of mean 0 and variance 1.
std::vector<float> random_numbers(std::int64_t count);

/// Random inputs of mean 0 and variance 1, or random ids.
std::vector<float> random_input(const Network& network);

/// Initial values of a tensor: weights uniform with the variance 2 / fan-in (K. He et al., ICCV'15), scales of
/// normalizations 1, biases 0.
std::vector<float> initial_values(const ModelLayer& layer, std::size_t layer_index, std::size_t tensor);

}  // namespace syncopate::capture
