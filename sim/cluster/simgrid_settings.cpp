#include "cluster/simgrid_settings.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <map>
#include <sstream>

#include "base/descriptors.hpp"
#include "base/errors.hpp"
#include "base/files.hpp"
#include "base/project_files.hpp"
#include "cluster/platform.hpp"

namespace syncopate {

namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

std::optional<RefusedSetting> ask(const Settings& settings) {
  const std::string program = beside_program("platform_reader").string();
  std::vector<std::string> arguments = {program, "--settings"};
  for (const auto& [name, value] : settings) arguments.push_back(fmt::format("{}:{}", name, value));
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  Descriptor out(file_in_memory("answer"));
  Descriptor log(file_in_memory("log"));
  const pid_t process = fork();
  if (process == 0) {
    constexpr rlimit of_processor = {5, 5};  // seconds; a trial takes 0.05
    setrlimit(RLIMIT_CPU, &of_processor);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(out.number(), STDOUT_FILENO);
    dup2(log.number(), STDERR_FILENO);
    execv(argv.front(), argv.data());
    _exit(127);
  }
  int status = 0;
  pid_t ended = -1;
  while (process > 0 && (ended = waitpid(process, &status, 0)) < 0 && errno == EINTR) {
  }
  if (ended < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 127)) {
    throw SimulationError(fmt::format("{}, which asks SimGrid about its settings, cannot be run; build it again", program));
  }
  const auto content = [](Descriptor& file) {
    lseek(file.number(), 0, SEEK_SET);
    return read_file(file.release(), "answer");
  };
  std::istringstream lines(content(out));
  std::string last;
  for (std::string line; std::getline(lines, line);) last = line;
  std::istringstream answer(last);
  std::string kind;
  answer >> kind;
  if (kind == "taken") return std::nullopt;
  RefusedSetting refused;
  if (kind == "refused") {
    answer >> refused.name;
    std::getline(answer >> std::ws, refused.reason);
  } else {
    if (kind == "trying") answer >> refused.name;
    const bool is_endless = WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL);
    refused.reason = logged_reason(content(log));
    if (is_endless || refused.reason.starts_with("The Impossible")) refused.reason = "a message with it never ends";
  }
  return refused;
}

}  // namespace

std::optional<RefusedSetting> refused_setting(const Settings& settings) {
  static std::map<Settings, std::optional<RefusedSetting>> answers;
  const auto found = answers.find(settings);
  return found != answers.end() ? found->second : answers.emplace(settings, ask(settings)).first->second;
}

}  // namespace syncopate
