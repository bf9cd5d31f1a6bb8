#include "simctl/commands.hpp"

int main(int argc, char** argv) {
  using namespace syncopate;
  return run_simctl(argc, argv, [](CLI::App& app, ExitCode& code) {
    add_run_command(app, code);
    add_merge_command(app, code);
    add_solve_command(app, code);
    add_explain_command(app);
    add_advise_command(app, code);
    add_check_command(app);
    add_list_command(app);
    add_new_command(app);
    add_show_command(app, &cluster_view());
    add_trace_command(app);
    add_cluster_command(app);
    add_completion_command(app);
    add_manual_command(app);
  });
}
