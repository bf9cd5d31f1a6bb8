#pragma once

#include <CLI/CLI.hpp>

#include "base/errors.hpp"
#include "base/program.hpp"
#include "base/terminal.hpp"

namespace syncopate::capture {

/// Parses the command line and calls `work`. An exception becomes one line on stderr. Returns the exit code.
template <class Work>
int run_program(CLI::App& app, int argc, char** argv, Work work) {
  begin_program();
  try {
    app.parse(argc, argv);
    work();
    finish_stdout();
    return static_cast<int>(ExitCode::done);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
    complain("{}: {}; \"{} --help\" has an example", app.get_name(), error.what(), app.get_name());
    return static_cast<int>(ExitCode::usage);
  } catch (const std::exception&) {
    return static_cast<int>(tell_failure(app.get_name(), ExitCode::cannot_write));
  }
}

}  // namespace syncopate::capture
