#include "base/processes.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <vector>

namespace syncopate {

namespace {

struct Child {
  int index;
  pid_t process;
  int pipe;
  std::string received;
};

// A child's message: one byte that says what the rest is, the result or an error with its exit code.
constexpr char result_tag = 'R';
constexpr char error_tag = 'E';

void write_all(int pipe, const std::string& text) {
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t count = write(pipe, text.data() + written, text.size() - written);
    if (count < 0 && errno != EINTR) return;
    if (count > 0) written += static_cast<std::size_t>(count);
  }
}

[[noreturn]] void run_child(int index, int pipe, const std::function<std::string(int)>& task) {
  // Blocked, not ignored: SimGrid installs a handler of its own, which would run on an actor's small stack.
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigprocmask(SIG_BLOCK, &interrupt, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::string message;
  try {
    message = result_tag + task(index);
  } catch (const Error& error) {
    message = std::string{error_tag, static_cast<char>(error.code())} + error.what();
  } catch (const std::exception& error) {
    message = std::string{error_tag, static_cast<char>(ExitCode::simulation_failed)} + error.what();
  }
  write_all(pipe, message);
  _exit(0);
}

/// Nullopt, with errno set, when the system has no pipe or process to give.
std::optional<Child> start(int index, const std::vector<Child>& running, const std::function<std::string(int)>& task) {
  std::array<int, 2> ends = {};
  if (pipe(ends.data()) != 0) return std::nullopt;
  std::fflush(nullptr);  // what is buffered must not be written twice
  const pid_t process = fork();
  if (process < 0) {
    const int reason = errno;
    close(ends[0]);
    close(ends[1]);
    errno = reason;
    return std::nullopt;
  }
  if (process == 0) {
    close(ends[0]);
    for (const Child& other : running) close(other.pipe);  // files may be short, and a task needs some
    run_child(index, ends[1], task);
  }
  close(ends[1]);
  return Child{index, process, ends[0], {}};
}

Outcome outcome_of(Child& child, int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const char* hint = signal == SIGKILL ? " (out of memory?)" : "";
    return {
        false, {}, fmt::format("its process was killed by signal {} ({}){}", signal, strsignal(signal), hint), ExitCode::simulation_failed};
  }
  std::string& message = child.received;
  if (!message.empty() && message[0] == result_tag) return {true, std::move(message.erase(0, 1)), {}, ExitCode::done};
  if (message.size() >= 2 && message[0] == error_tag) return {false, {}, message.substr(2), static_cast<ExitCode>(message[1])};
  return {false, {}, fmt::format("its process ended with status {} and no result", WEXITSTATUS(status)), ExitCode::simulation_failed};
}

/// Reads what has arrived; true at the end of the child's message.
bool receive(Child& child) {
  std::array<char, 65536> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): read() fills it
  const ssize_t count = read(child.pipe, buffer.data(), buffer.size());
  if (count > 0) child.received.append(buffer.data(), static_cast<std::size_t>(count));
  return count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN);
}

int reap(const Child& child) {
  close(child.pipe);
  int status = 0;
  while (waitpid(child.process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

void run_forked(int count, int parallel, const std::function<std::string(int)>& task, const std::function<void(int, const Outcome&)>& done,
                const std::function<bool()>& interrupted) {
  const auto stop = [&] { return interrupted && interrupted(); };
  std::vector<Child> running;
  int next = 0;
  while (!stop() && (next < count || !running.empty())) {
    while (next < count && static_cast<int>(running.size()) < parallel) {
      std::optional<Child> child = start(next, running, task);
      if (!child && !running.empty()) break;  // again when one has ended
      const int index = next++;
      if (child) {
        running.push_back(std::move(*child));
      } else {
        done(index, {false, {}, fmt::format("cannot start its process: {}", std::strerror(errno)), ExitCode::simulation_failed});
      }
    }
    std::vector<pollfd> polled;
    polled.reserve(running.size());
    for (const Child& child : running) polled.push_back({child.pipe, POLLIN, 0});
    constexpr int patience_ms = 200;  // a signal may arrive between the test and the poll
    if (poll(polled.data(), polled.size(), patience_ms) <= 0) continue;
    for (std::size_t i = polled.size(); i-- > 0;) {
      if (polled[i].revents == 0 || !receive(running[i])) continue;
      Child ended = std::move(running[i]);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      const int status = reap(ended);
      done(ended.index, outcome_of(ended, status));
    }
  }
  for (const Child& child : running) {
    kill(child.process, SIGKILL);
    reap(child);
  }
}

Bytes available_memory() {
  std::ifstream lines("/proc/meminfo");
  std::string key;
  for (double kibibytes = 0.0; lines >> key >> kibibytes; lines.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
    if (key == "MemAvailable:") return Bytes(1024.0 * kibibytes);
  }
  return Bytes(std::numeric_limits<double>::infinity());
}

std::string in_another_process(const std::function<std::string()>& function) {
  Outcome outcome;
  run_forked(
      1, 1, [&](int) { return function(); }, [&](int, const Outcome& its) { outcome = its; });
  if (!outcome.ok) throw SimulationError(outcome.error);
  return outcome.result;
}

}  // namespace syncopate
