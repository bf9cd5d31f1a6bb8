#pragma once

#include <CLI/CLI.hpp>

#include "base/errors.hpp"

namespace syncopate {

/// Each adds its subcommand to the command line; the subcommand's callback does the work, throws Error, and sets `code`
/// when it ends otherwise than well without throwing.
void add_run_command(CLI::App& app, ExitCode& code);
void add_check_command(CLI::App& app);
void add_list_command(CLI::App& app);
void add_show_command(CLI::App& app);
void add_trace_command(CLI::App& app);

/// Subcommands of `trace`.
void add_trace_import_command(CLI::App& app);
void add_trace_synth_command(CLI::App& app);
void add_trace_fit_command(CLI::App& app);

/// The whole program: parses, runs, prints errors to stderr; returns the exit code.
int run_simctl(int argc, char** argv);

}  // namespace syncopate
