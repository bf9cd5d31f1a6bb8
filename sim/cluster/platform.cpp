#include "cluster/platform.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <utility>

#include "base/descriptors.hpp"
#include "base/files.hpp"
#include "base/indexed.hpp"
#include "base/project_files.hpp"

namespace syncopate {

namespace {

constexpr Seconds longest_latency(86400.0);

/// The next word as a number, which may be "nan" or "inf"; NaN if it is none.
double number_in(std::istringstream& words) {
  std::string word;
  words >> word;
  char* end = nullptr;
  const double number = std::strtod(word.c_str(), &end);
  return word.empty() || *end != '\0' ? std::nan("") : number;
}

}  // namespace

// A line is such as "[0.000000] ./src/xbt/exception.cpp:95: [xbt_exception/ERROR] Parse error at ...".
std::string logged_reason(const std::string& log) {
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t text = line.rfind("] ");
    for (const std::string_view mark : {"/ERROR]", "/CRITICAL]"}) {
      if (line.find(mark) != std::string::npos && text != std::string::npos) return line.substr(text + 2);
    }
  }
  return "SimGrid gave up without a reason";
}

/// The process that has the platform. A forked process needs one of its own. At most `most_running` run at a time: the oldest one ends
/// then.
class Platform::Reader {
 public:
  explicit Reader(const std::string& xml)
      : owner_(getpid()), program_(beside_program("platform_reader").string()), log_(file_in_memory("log")) {
    const Descriptor content(file_in_memory("platform", xml));
    std::array<int, 2> in = {-1, -1};
    std::array<int, 2> out = {-1, -1};
    const bool has_pipes = pipe2(in.data(), O_CLOEXEC) == 0 && pipe2(out.data(), O_CLOEXEC) == 0;
    const Descriptor its_in(in[0]);
    const Descriptor its_out(out[1]);
    to_.emplace(in[1]);
    from_ = out[0] < 0 ? nullptr : fdopen(out[0], "r");
    if (!log_.is_open() || !content.is_open() || !has_pipes)
      throw PlatformError(fmt::format("it cannot be handed to {}: {}", program_, std::strerror(errno)));
    path_ = fmt::format("/dev/fd/{}", content.number());
    process_ = fork();
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(its_in.number(), STDIN_FILENO);
      dup2(its_out.number(), STDOUT_FILENO);
      dup2(log_.number(), STDERR_FILENO);
      fcntl(content.number(), F_SETFD, 0);  // NOLINT(cppcoreguidelines-pro-type-vararg): POSIX
      execl(program_.c_str(), program_.c_str(), path_.c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
    if (running.size() == most_running) running.front()->stop();
    running.push_back(this);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { stop(); }

  /// Not ended, and not inherited from the process that forked this one.
  bool is_running() const { return process_ > 0 && owner_ == getpid(); }

  /// An end of the process shows in answer().
  void ask(std::string_view line) const {
    const NoPipeSignal none;
    write_all(to_->number(), line);
  }

  /// The next line, or none where the process has ended.
  std::optional<std::string> answer() {
    std::string line;
    for (int letter = 0; (letter = std::getc(from_)) != EOF;) {
      if (letter == '\n') return line;
      line += static_cast<char>(letter);
    }
    return std::nullopt;
  }

  /// Why it has ended.
  std::string reason() {
    int status = 0;
    waitpid(std::exchange(process_, 0), &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
      return fmt::format("{}, which reads platforms, cannot be run; build it again", program_);
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGABRT)
      return fmt::format("SimGrid ended with signal {} ({}); look at the zones' topo_parameters", WTERMSIG(status),
                         strsignal(WTERMSIG(status)));
    lseek(log_.number(), 0, SEEK_SET);
    return logged_reason(read_file(log_.release(), "log"));
  }

  /// What the process takes for the name of the file.
  const std::string& path() const { return path_; }

 private:
  static constexpr std::size_t most_running = 8;
  static std::vector<Reader*> running;  ///< in the order of their starts

  void stop() {
    std::erase(running, this);
    to_.reset();
    log_.shut();
    if (from_ != nullptr) std::fclose(std::exchange(from_, nullptr));
    if (!is_running()) return;
    kill(process_, SIGKILL);
    waitpid(std::exchange(process_, 0), nullptr, 0);
  }

  pid_t owner_;
  std::string program_;
  Descriptor log_;
  std::optional<Descriptor> to_;
  std::FILE* from_ = nullptr;
  pid_t process_ = 0;
  std::string path_;
};

std::vector<Platform::Reader*> Platform::Reader::running;

Platform::Platform(std::string xml, std::string name) : xml_(std::move(xml)), name_(std::move(name)) { start(); }

Platform::~Platform() = default;

void Platform::fail(std::string reason) const {
  const std::string path = reader_->path();
  for (std::size_t at = 0; (at = reason.find(path, at)) != std::string::npos; at += name_.size()) reason.replace(at, path.size(), name_);
  throw PlatformError(fmt::format("{}: {}", name_, reason));
}

void Platform::start() {
  reader_ = std::make_unique<Reader>(xml_);
  hosts_.clear();
  links_.clear();
  for (;;) {
    const std::optional<std::string> line = reader_->answer();
    if (!line) fail(reader_->reason());
    std::istringstream words(*line);
    std::string kind;
    words >> kind;
    const auto rest = [&] {
      std::string text;
      std::getline(words >> std::ws, text);
      return text;
    };
    if (kind == "end") break;
    if (kind == "error") fail(rest());
    if (kind == "h") {
      Host host;
      host.speed = number_in(words);
      host.name = rest();
      hosts_.push_back(std::move(host));
    } else if (kind == "l") {
      Link link;
      link.bandwidth = Rate(number_in(words));
      link.latency = Seconds(number_in(words));
      char policy = 's';
      words >> policy;
      link.is_shared = policy != 'f';
      link.name = rest();
      if (policy == 'd') link.cable = link.name.substr(0, link.name.rfind('_'));
      if (!(link.bandwidth > Rate(0)))
        fail(fmt::format("link \"{}\" has a bandwidth of {} bytes/s; give it one above 0", link.name, link.bandwidth.value));
      if (!(link.latency >= Seconds(0) && link.latency <= longest_latency))
        fail(fmt::format("link \"{}\" has a latency of {} s; give it one from 0 to a day", link.name, link.latency.value));
      links_.push_back(std::move(link));
    }
  }
  if (hosts_.empty()) fail("it has no hosts; a node needs one, such as <host id=\"node-0\" speed=\"1Gf\"/>");
}

const Platform::Route& Platform::route(int from, int to) {
  const auto [entry, is_new] = routes_.try_emplace(static_cast<long>(from) * static_cast<long>(hosts_.size()) + to);
  Route& route = entry->second;
  if (!is_new) return route;
  try {
    if (!reader_->is_running()) start();
    reader_->ask(fmt::format("{} {}\n", from, to));
    const std::optional<std::string> line = reader_->answer();
    if (!line) {
      fail(fmt::format("at the route from host \"{}\" to host \"{}\": {}", hosts_[at(from)].name, hosts_[at(to)].name, reader_->reason()));
    }
    if (line->starts_with("error ")) fail(line->substr(6));
    std::istringstream words(*line);
    words >> route.latency.value;
    for (int link = 0; words >> link;) route.links.push_back(link);
    if (route.links.empty()) {
      fail(fmt::format("there is no route with links from host \"{}\" to host \"{}\"; give one for this direction", hosts_[at(from)].name,
                       hosts_[at(to)].name));
    }
  } catch (const PlatformError&) {
    routes_.erase(entry);
    throw;
  }
  return route;
}

std::shared_ptr<Platform> shared_platform(const std::string& xml, const std::string& name) {
  static std::map<std::string, std::shared_ptr<Platform>> platforms;  // by name and text
  std::shared_ptr<Platform>& platform = platforms[name + '\n' + xml];
  if (!platform) platform = std::make_shared<Platform>(xml, name);
  return platform;
}

}  // namespace syncopate
