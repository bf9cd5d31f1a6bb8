#include <fmt/format.h>

#include "simctl/commands.hpp"

namespace {

using namespace syncopate;

#ifdef SYNCOPATE_SIMULATOR
void add_commands(CLI::App& app, ExitCode& code) {
  add_run_command(app, code);
  add_merge_command(app, code);
  add_solve_command(app, code);
  add_calibrate_command(app, code);
  add_explain_command(app);
  add_apply_command(app);
  add_export_command(app);
  add_advise_command(app, code);
  add_check_command(app);
  add_list_command(app);
  add_new_command(app);
  add_show_command(app, &cluster_view());
  add_trace_command(app);
  add_cluster_command(app);
  add_completion_command(app);
}
#else
/// Without SimGrid: only the commands for traces.
void add_commands(CLI::App& app, ExitCode& /*code*/) {
  app.description("Makes, shows and compares traces. This simctl was built without SimGrid, which run, check and list need.");
  app.footer("Exit codes: 0 done, 2 usage, 3 bad input, 5 cannot write.\nExample: simctl show cpu-resnet50-b8");
  add_show_command(app, nullptr);
  add_trace_command(app);
  for (const char* name : {"run", "check", "list"}) {
    app.add_subcommand(name)->group("")->allow_extras()->callback([name] {
      throw UsageError(
          fmt::format("\"simctl {}\" needs SimGrid. This simctl was built without it. \"make build\" builds it with SimGrid.", name));
    });
  }
}
#endif

}  // namespace

int main(int argc, char** argv) { return run_simctl(argc, argv, add_commands); }
