#pragma once

#include <string>

#include "base/units.hpp"

namespace syncopate {

/// What the machine can give to new processes without swapping, or less where this process's control group, or one around it, has less
/// left of its limit (as in a container). Infinite where neither is known. `root`: of the file system that tells it.
Bytes available_memory(const std::string& root = "");

/// How much more memory this process may name, whether or not it uses it (ulimit -v); infinite where nothing limits it.
Bytes available_addresses();

}  // namespace syncopate
