#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/program.hpp"
#include "base/terminal.hpp"
#include "base/version.hpp"
#include "simctl/commands.hpp"

namespace syncopate {

CLI::Option* add_json_option(CLI::App& command, std::string& format) {
  return command.add_option("--format", format, "text, or json for other programs")->check(CLI::IsMember({"text", "json"}));
}

int run_simctl(int argc, char** argv, const std::function<void(CLI::App& app, ExitCode& code)>& add_commands) {
  begin_program();
  ExitCode code = ExitCode::done;
  CLI::App app("Simulates data-parallel training: which communication schedule trains fastest, how far it scales, what holds it back.",
               "simctl");
  app.require_subcommand(1);
  app.set_version_flag("--version", version());
  app.footer(
      "Exit codes: 0 done, 2 usage, 3 bad input, 4 simulation failed, 5 cannot write, 130 interrupted.\n"
      "Example: simctl run quickstart");
  add_commands(app, code);
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == "help") {
    std::rotate(words.begin(), words.begin() + 1, words.end());
    words.back() = "--help";
    const std::string& command = words.front();
    const auto named = app.get_subcommands([&command](const CLI::App* one) { return one->get_name() == command; });
    if (command != "--help" && named.empty()) {
      complain("simctl: no subcommand is called \"{}\"; \"simctl --help\" lists them", command);
      return static_cast<int>(ExitCode::usage);
    }
  }
  std::reverse(words.begin(), words.end());  // as CLI11 wants them
  try {
    app.parse(words);
    finish_stdout();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
    std::string command = "simctl";
    const CLI::App* innermost = &app;
    while (!innermost->get_subcommands().empty()) {
      innermost = innermost->get_subcommands().front();
      command += " " + innermost->get_name();
    }
    // A misspelt subcommand counts as a missing one.
    const std::vector<std::string> unknown = innermost->remaining();
    const bool no_such_subcommand = !unknown.empty() && !innermost->get_subcommands([](const CLI::App*) { return true; }).empty();
    complain("simctl: {}; \"{} --help\" has an example",
             no_such_subcommand ? fmt::format("no subcommand is called \"{}\"", unknown.front()) : error.what(), command);
    code = ExitCode::usage;
  } catch (const std::exception&) {
    code = tell_failure("simctl", ExitCode::simulation_failed);
  }
  return static_cast<int>(code);
}

}  // namespace syncopate
