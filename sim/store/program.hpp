#pragma once

#include <string>

namespace syncopate {

/// Identifies this build of the program: SHA-256 of its version, SimGrid's version and its binary. Throws InputError if the binary cannot
/// be read.
const std::string& program_digest();

}  // namespace syncopate
