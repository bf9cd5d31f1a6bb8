#pragma once

#include <string>

#include "capture/network.hpp"

namespace syncopate::capture {

/// For people: each layer's shapes, tensors, multiply-accumulates and memory for the batch, and the sums.
std::string format_plan(const Network& network);

}  // namespace syncopate::capture
