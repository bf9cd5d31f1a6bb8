#pragma once

#include <string>

namespace syncopate {

/// What tells this build of the program from every other one: the SHA-256 of its version, its binary and SimGrid's version. Throws
/// InputError where the binary cannot be read.
const std::string& program_digest();

}  // namespace syncopate
