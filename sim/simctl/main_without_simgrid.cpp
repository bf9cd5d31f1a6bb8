#include <fmt/format.h>

#include "simctl/commands.hpp"

/// For a machine that lends its GPU and has no SimGrid: what makes traces and shows them.
int main(int argc, char** argv) {
  using namespace syncopate;
  return run_simctl(argc, argv, [](CLI::App& app, ExitCode& /*code*/) {
    app.description("Makes, shows and compares traces. This simctl was built without SimGrid, which run, check and list need.");
    app.footer("Exit codes: 0 done, 2 usage, 3 bad input, 5 cannot write.\nExample: simctl show cpu-resnet50-b8");
    add_show_command(app, nullptr);
    add_trace_command(app);
    for (const char* name : {"run", "check", "list"}) {
      CLI::App* command = app.add_subcommand(name)->group("")->allow_extras();
      command->callback([name] {
        throw UsageError(
            fmt::format("\"simctl {}\" needs SimGrid, without which this simctl was built; \"make build\" builds it with", name));
      });
    }
  });
}
