#pragma once

#include <CLI/CLI.hpp>

#include <functional>

#include "base/errors.hpp"
#include "base/json.hpp"

namespace syncopate {

/// Each adds its subcommand to the command line; the subcommand's callback does the work, throws Error, and sets `code`
/// when it ends otherwise than well without throwing.
void add_run_command(CLI::App& app, ExitCode& code);
void add_merge_command(CLI::App& app, ExitCode& code);
void add_solve_command(CLI::App& app, ExitCode& code);
void add_explain_command(CLI::App& app);
void add_advise_command(CLI::App& app, ExitCode& code);
void add_check_command(CLI::App& app);
void add_list_command(CLI::App& app);
void add_new_command(CLI::App& app);
void add_trace_command(CLI::App& app);
void add_cluster_command(CLI::App& app);
void add_completion_command(CLI::App& app);  ///< also a hidden one, which the shells ask

/// How `show` shows a cluster.
struct ClusterView {
  void (*print)(const Document& document);  ///< as a table
  void (*draw)(const Document& document);   ///< as a graph for Graphviz
};
const ClusterView& cluster_view();

/// `clusters` is null in a program without SimGrid, which then refuses clusters.
void add_show_command(CLI::App& app, const ClusterView* clusters);

/// Subcommands of `trace`.
void add_trace_import_command(CLI::App& app);
void add_trace_synth_command(CLI::App& app);
void add_trace_fit_command(CLI::App& app);
void add_trace_compare_command(CLI::App& app);

/// A whole program: parses, runs one of the commands that `add_commands` adds, prints errors to stderr; returns the exit code.
int run_simctl(int argc, char** argv, const std::function<void(CLI::App& app, ExitCode& code)>& add_commands);

}  // namespace syncopate
