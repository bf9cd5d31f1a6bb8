#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace syncopate {

/// Extents of a tensor. Of an activation, for one sample: [channels, height, width], [tokens, width], [tokens] or [n].
using Shape = std::vector<std::int64_t>;

/// The product of the extents: 1 for an empty shape.
std::int64_t elements(const Shape& shape);

/// The same for a shape that nobody has checked, whose product may not fit an integer.
double unchecked_elements(const Shape& shape);

/// "64x3x7x7", for people.
std::string format_shape(const Shape& shape);

/// The shape that `option` of a command line has. Throws UsageError for anything but extents of 1 to 1,000,000 with an x in between.
Shape parse_shape(std::string_view text, std::string_view option);

}  // namespace syncopate
