#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace syncopate {

/// Extents of a tensor. Activations are for one sample: [channels, height, width], [tokens, width], [tokens] or [n].
using Shape = std::vector<std::int64_t>;

/// The product of the extents: 1 for an empty shape.
std::int64_t elements(const Shape& shape);

/// The same for an unchecked shape, whose product may exceed an integer.
double unchecked_elements(const Shape& shape);

/// "64x3x7x7", for people.
std::string format_shape(const Shape& shape);

/// Parses the value of a command-line option: extents from 1 to 1,000,000, separated by x. Else throws UsageError, which names `option`.
Shape parse_shape(std::string_view text, std::string_view option);

}  // namespace syncopate
