#include "capture/node/operations.hpp"

#include <array>

namespace syncopate::capture {

namespace {

constexpr double one_bit = 1.0 / 32;  // of an fp32 number
constexpr double percent = 0.01;
constexpr double per_mille = 0.001;

constexpr std::array table = {
    Operation{"host_to_device", 1, "what crosses the link, from pinned memory"},
    Operation{"device_to_host", 1, "what crosses the link, to pinned memory"},
    Operation{"host_to_device_pageable", 1, "what crosses the link, from pageable memory"},
    Operation{"device_to_host_pageable", 1, "what crosses the link, to pageable memory"},
    Operation{"device_copy", 2, "a read and a write"},
    Operation{"pack", 2, "a read and a write", 0, true},
    Operation{"pack_each", 2, "a read and a write", 0, true},
    Operation{"add", 3, "two reads and a write"},
    Operation{"cast_fp16", 1.5, "a read, and a write of half as much"},
    Operation{"uncast_fp16", 1.5, "a read of half as much, and a write"},
    Operation{"sign", 1 + one_bit, "a read, and a write of one bit per number"},
    Operation{"top_k_0.01", 1 + 2 * percent, "a read, and a write of the values and indices kept", percent},
    Operation{"top_k_0.001", 1 + 2 * per_mille, "a read, and a write of the values and indices kept", per_mille},
};

}  // namespace

std::span<const Operation> operations() { return table; }

}  // namespace syncopate::capture
