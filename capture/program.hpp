#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/errors.hpp"

namespace syncopate::capture {

/// Reads the command line and does the program's work, which throws Error where it cannot. Whatever goes wrong is one line on stderr.
/// Returns the exit code.
template <class Work>
int run_program(CLI::App& app, int argc, char** argv, Work work) {
  try {
    app.parse(argc, argv);
    work();
    if (std::fflush(stdout) != 0) throw OutputError(fmt::format("standard output cannot be written: {}", std::strerror(errno)));
    return static_cast<int>(ExitCode::done);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
    fmt::print(stderr, "{}: {}; \"{} --help\" has an example\n", app.get_name(), error.what(), app.get_name());
    return static_cast<int>(ExitCode::usage);
  } catch (const Error& error) {
    fmt::print(stderr, "{}: {}\n", app.get_name(), error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: internal error: {}\n", app.get_name(), error.what());
    return static_cast<int>(ExitCode::cannot_write);
  }
}

}  // namespace syncopate::capture
