#pragma once

#include <string>
#include <string_view>

#include "base/errors.hpp"

namespace syncopate {

/// What a program does before all else, so that bad surroundings end in an error that says so: a file that grows over the limit does not
/// kill it, and no file that it opens takes the place of a standard stream that was closed.
void begin_program();

/// In a handler of std::exception: says on stderr, in one line that begins with the program's name, what went wrong. Returns the exit code;
/// `otherwise` where the exception has none of its own.
ExitCode tell_failure(const std::string& program, ExitCode otherwise);

/// Of a simulation or a program that gets no more memory.
constexpr std::string_view lack_of_memory = "out of memory; free some of it, raise the limit (ulimit -v), or do less at a time (-j)";

}  // namespace syncopate
