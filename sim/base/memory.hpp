#pragma once

#include <string>

#include "base/units.hpp"

namespace syncopate {

/// Memory for new processes, in bytes: the least of what the machine has without swapping and what this process's control groups (as in a
/// container) have left. Infinite where neither is known. `root`: folder that holds proc/ and sys/, for tests.
Bytes available_memory(const std::string& root = "");

/// Address space that this process has left under ulimit -v, in bytes. Infinite without a limit.
Bytes available_addresses();

}  // namespace syncopate
