#include <memory>

#include "base/terminal.hpp"
#include "import/ranks.hpp"
#include "simctl/commands.hpp"
#include "simctl/rank_table.hpp"

namespace syncopate {

void add_trace_ranks_command(CLI::App& app) {
  const auto profiles = std::make_shared<std::vector<std::string>>();
  CLI::App* command =
      app.add_subcommand("ranks", "Which rank of a job is slow, in which layers, since when? From the profiles of all ranks");
  command->add_option("PROFILES", *profiles, "torch.profiler files of the ranks, or a folder of them")->required();
  command->footer("Example: simctl trace ranks runs/job/ (the folder given to tensorboard_trace_handler)");
  command->callback([profiles] {
    const ImportSettings settings = {.model = "job", .batch = 1, .clocking = Clocking::wall, .sizes = nullptr, .needs_sizes = false};
    const std::vector<RankProfile> ranks = import_ranks(profile_files(*profiles), settings);
    display("{}", describe(compare_ranks(ranks)));
  });
}

}  // namespace syncopate
