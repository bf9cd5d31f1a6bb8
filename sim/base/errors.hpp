#pragma once

#include <stdexcept>
#include <string>

namespace syncopate {

/// Exit codes of the process. They are part of `simctl`'s public interface.
enum class ExitCode { done = 0, usage = 2, bad_input = 3, simulation_failed = 4, cannot_write = 5, interrupted = 130 };

/// An error that the user can act on. The message names the place, the rule, the value and, if known, the fix.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// A command line that cannot be understood.
struct UsageError : Error {
  explicit UsageError(const std::string& message) : Error(ExitCode::usage, message) {}
};

/// A file that is missing, malformed or breaks a rule of its format.
struct InputError : Error {
  explicit InputError(const std::string& message) : Error(ExitCode::bad_input, message) {}
};

/// A simulation that could not finish: deadlock, a program that ended early, an empty window.
struct SimulationError : Error {
  explicit SimulationError(const std::string& message) : Error(ExitCode::simulation_failed, message) {}
};

/// A result that could not be written.
struct OutputError : Error {
  explicit OutputError(const std::string& message) : Error(ExitCode::cannot_write, message) {}
};

}  // namespace syncopate
