#pragma once

#include <string>
#include <string_view>

#include "base/errors.hpp"

namespace syncopate {

/// Call it first in main. Writing beyond the file size limit becomes an error instead of a signal, and no file that the program opens takes
/// the number of a closed standard stream.
void begin_program();

/// Call it in a handler of std::exception. Prints "program: message" on stderr in one line. Returns the exception's exit code, or
/// `otherwise` if it has none.
ExitCode tell_failure(const std::string& program, ExitCode otherwise);

/// Message of a simulation or a program that is out of memory.
constexpr std::string_view lack_of_memory = "out of memory; free some of it, raise the limit (ulimit -v), or do less at a time (-j)";

}  // namespace syncopate
