#pragma once

#include <CLI/CLI.hpp>

#include <functional>

#include "base/errors.hpp"
#include "base/json.hpp"

namespace syncopate {

/// Each function adds a subcommand to the command line. The subcommand's callback does the work and throws Error. It sets `code` when it
/// fails without an exception.
void add_run_command(CLI::App& app, ExitCode& code);
void add_merge_command(CLI::App& app, ExitCode& code);
void add_solve_command(CLI::App& app, ExitCode& code);
void add_calibrate_command(CLI::App& app, ExitCode& code);
void add_explain_command(CLI::App& app);
void add_apply_command(CLI::App& app);
void add_export_command(CLI::App& app);
void add_advise_command(CLI::App& app, ExitCode& code);
void add_check_command(CLI::App& app);
void add_list_command(CLI::App& app);
void add_new_command(CLI::App& app);
void add_trace_command(CLI::App& app);
void add_cluster_command(CLI::App& app);
void add_completion_command(CLI::App& app);  ///< also adds the hidden subcommand that shells call

/// Adds --format text|json. Json is for other programs: a format of ours, and nothing else on stdout.
CLI::Option* add_json_option(CLI::App& command, std::string& format);

struct ScheduleRow;

/// Null if no schedule has that name.
const ScheduleRow* find_schedule(const std::string& name);
/// Prints a schedule with its parameters.
void print_schedule(const ScheduleRow& schedule);
/// The same as show/1.
Json schedule_json(const ScheduleRow& schedule);

/// Functions of `show` for clusters and schedules.
struct ClusterView {
  void (*print)(const Document& document);  ///< as a table
  void (*draw)(const Document& document);   ///< as a graph for Graphviz
  /// Its network as a SimGrid platform, into that file; the cluster that uses it, on stdout.
  void (*write_platform)(const Document& document, const std::string& file);
  Json (*json)(const Document& document);  ///< what `print` prints, as show/1
  const ScheduleRow* (*find_schedule)(const std::string& name);
  void (*print_schedule)(const ScheduleRow& schedule);
  Json (*schedule_json)(const ScheduleRow& schedule);  ///< what `print_schedule` prints, as show/1
};
const ClusterView& cluster_view();

/// `clusters` is null in a program without SimGrid; `show` then refuses clusters.
void add_show_command(CLI::App& app, const ClusterView* clusters);

/// Subcommands of `trace`.
void add_trace_import_command(CLI::App& app);
void add_trace_ranks_command(CLI::App& app);
void add_trace_synth_command(CLI::App& app);
void add_trace_fit_command(CLI::App& app);
void add_trace_compare_command(CLI::App& app);

/// The main function: parses the command line, runs a command of `add_commands`, prints errors to stderr. Returns the exit code.
int run_simctl(int argc, char** argv, const std::function<void(CLI::App& app, ExitCode& code)>& add_commands);

}  // namespace syncopate
