#include "cluster/platform.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
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

#include "base/errors.hpp"
#include "base/files.hpp"
#include "base/indexed.hpp"
#include "base/project_files.hpp"

namespace syncopate {

namespace {

/// Writes all of the text; false where nobody reads it.
bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// A file in memory with this text, at its begin.
int file_in_memory(const char* name, std::string_view text = {}) {
  const int file = memfd_create(name, 0);
  if (file < 0 || !write_all(file, text)) throw PlatformError(fmt::format("no file in memory can be made: {}", std::strerror(errno)));
  lseek(file, 0, SEEK_SET);
  return file;
}

constexpr Seconds longest_latency(86400.0);

/// The next word as a number, which may be "nan" or "inf"; NaN if it is none.
double number_in(std::istringstream& words) {
  std::string word;
  words >> word;
  char* end = nullptr;
  const double number = std::strtod(word.c_str(), &end);
  return word.empty() || *end != '\0' ? std::nan("") : number;
}

/// What SimGrid has logged, without its prefix: "[0.000000] ./src/xbt/exception.cpp:95: [xbt_exception/ERROR] Parse error at ...".
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

}  // namespace

/// The process that has the platform. A forked process needs one of its own.
class Platform::Reader {
 public:
  explicit Reader(const std::string& xml) : owner_(getpid()), log_(file_in_memory("log")) {
    const std::filesystem::path program = beside_program("platform_reader");
    const int content = file_in_memory("platform", xml);
    std::array<int, 2> in = {};
    std::array<int, 2> out = {};
    if (pipe(in.data()) != 0 || pipe(out.data()) != 0) throw PlatformError(fmt::format("no pipe can be made: {}", std::strerror(errno)));
    process_ = fork();
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      dup2(log_, STDERR_FILENO);
      for (const int file : {in[0], in[1], out[0], out[1], log_}) close(file);
      const std::string path = fmt::format("/dev/fd/{}", content);
      execl(program.c_str(), program.c_str(), path.c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    close(content);
    for (const int file : {in[1], out[0], log_}) fcntl(file, F_SETFD, FD_CLOEXEC);
    to_ = in[1];
    from_ = fdopen(out[0], "r");
    path_ = fmt::format("/dev/fd/{}", content);
    program_ = program.string();
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() {
    close(to_);
    close(log_);
    std::fclose(from_);
    if (!is_own() || has_ended_) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }

  /// Not inherited from the process that forked this one.
  bool is_own() const { return owner_ == getpid(); }

  /// An end of the process shows in answer().
  void ask(std::string_view line) const {
    const auto before = std::signal(SIGPIPE, SIG_IGN);
    write_all(to_, line);
    std::signal(SIGPIPE, before);
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
    waitpid(process_, &status, 0);
    has_ended_ = true;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
      return fmt::format("{}, which reads platforms, cannot be run; build it again", program_);
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGABRT)
      return fmt::format("SimGrid ended with signal {} ({}); look at the zones' topo_parameters", WTERMSIG(status),
                         strsignal(WTERMSIG(status)));
    lseek(log_, 0, SEEK_SET);
    return logged_reason(read_file(dup(log_), "log"));
  }

  /// What the process takes for the name of the file.
  const std::string& path() const { return path_; }

 private:
  pid_t owner_;
  pid_t process_ = 0;
  bool has_ended_ = false;
  int to_ = -1;
  int log_;
  std::FILE* from_ = nullptr;
  std::string path_;
  std::string program_;
};

namespace {

/// Those that have a process, in the order of their starts.
std::vector<Platform*>& with_readers() {
  static std::vector<Platform*> platforms;
  return platforms;
}

}  // namespace

Platform::Platform(std::string xml, std::string name) : xml_(std::move(xml)), name_(std::move(name)) { start(); }

Platform::~Platform() { std::erase(with_readers(), this); }

void Platform::end_oldest() {
  constexpr std::size_t most_readers = 8;
  std::vector<Platform*>& platforms = with_readers();
  std::erase(platforms, this);
  if (platforms.size() == most_readers) {
    platforms.front()->reader_.reset();
    platforms.erase(platforms.begin());
  }
  platforms.push_back(this);
}

void Platform::fail(std::string reason) const {
  const std::string path = reader_->path();
  for (std::size_t at = 0; (at = reason.find(path, at)) != std::string::npos; at += name_.size()) reason.replace(at, path.size(), name_);
  throw PlatformError(fmt::format("{}: {}", name_, reason));
}

void Platform::start() {
  end_oldest();
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
    if (!reader_ || !reader_->is_own()) start();
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
