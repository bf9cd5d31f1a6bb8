#include <fmt/format.h>

#include "simctl/commands.hpp"

namespace syncopate {

void add_trace_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("trace",
                                         "Make a trace: import a profile, compare the ranks of a job, synthesize a trace from a model, fit "
                                         "a device to traces, or compare two");
  command->require_subcommand(1);
  command->footer("Example: simctl trace synth resnet50 --device v100 --batch 32 -o results/resnet50.json");
  add_trace_import_command(*command);
  add_trace_ranks_command(*command);
  add_trace_synth_command(*command);
  add_trace_fit_command(*command);
  add_trace_compare_command(*command);
}

}  // namespace syncopate
