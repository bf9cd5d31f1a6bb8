#include "base/processes.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>
#include <limits>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace syncopate {

namespace {

struct Work {
  const std::function<std::string(int)>& task;
  const std::function<bool()>& can_go_on;
};

/// Tasks first, first + 1, ... < last.
struct Range {
  int first;
  int last;
};

struct Child {
  Range tasks;  ///< that it has still to do
  pid_t process;
  int pipe;
  std::string received;
  bool has_stopped = false;  ///< of its own accord, when it had done one of them
};

// A child's messages: a head, then the result or an error.
constexpr char result_tag = 'R';
constexpr char error_tag = 'E';
constexpr char stop_tag = 'S';  ///< it does no more of its tasks

struct Head {
  char tag = result_tag;
  ExitCode code = ExitCode::done;
  std::size_t size = 0;
};
static_assert(std::is_trivially_copyable_v<Head>);

void write_all(int pipe, const std::string& text) {
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t count = write(pipe, text.data() + written, text.size() - written);
    if (count < 0 && errno != EINTR) return;
    if (count > 0) written += static_cast<std::size_t>(count);
  }
}

void send(int pipe, char tag, const std::string& text, ExitCode code = ExitCode::done) {
  const Head head = {tag, code, text.size()};
  std::string message(sizeof head, '\0');
  std::memcpy(message.data(), &head, sizeof head);
  write_all(pipe, message + text);
}

[[noreturn]] void run_child(Range tasks, int pipe, pid_t parent, const Work& work) {
  // Blocked, not ignored: SimGrid installs a handler of its own, which would run on an actor's small stack.
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigprocmask(SIG_BLOCK, &interrupt, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);  // it died before that
  const auto start = std::chrono::steady_clock::now();
  for (int index = tasks.first; index < tasks.last; ++index) {
    try {
      send(pipe, result_tag, work.task(index));
    } catch (const Error& error) {
      send(pipe, error_tag, error.what(), error.code());
    } catch (const std::exception& error) {
      send(pipe, error_tag, error.what(), ExitCode::simulation_failed);
    }
    constexpr std::chrono::milliseconds long_enough(50);  // beyond which processes of their own cost little, and cores are shared better
    if (!work.can_go_on || !work.can_go_on() || std::chrono::steady_clock::now() - start > long_enough) break;
  }
  send(pipe, stop_tag, "");
  _exit(0);
}

/// Nullopt, with errno set, when the system has no pipe or process to give.
std::optional<Child> start(Range tasks, const std::vector<Child>& running, const Work& work) {
  std::array<int, 2> ends = {};
  if (pipe(ends.data()) != 0) return std::nullopt;
  std::fflush(nullptr);  // what is buffered must not be written twice
  const pid_t parent = getpid();
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
    run_child(tasks, ends[1], parent, work);
  }
  close(ends[1]);
  return Child{tasks, process, ends[0], {}};
}

/// Of the task that a child was about when it ended.
Outcome outcome_of_end(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const char* hint = signal == SIGKILL ? " (out of memory?)" : "";
    return {
        false, {}, fmt::format("its process was killed by signal {} ({}){}", signal, strsignal(signal), hint), ExitCode::simulation_failed};
  }
  return {false, {}, fmt::format("its process ended with status {} and no result", WEXITSTATUS(status)), ExitCode::simulation_failed};
}

/// Takes what is complete out of what has been received.
void take_messages(Child& child, const std::function<void(int, const Outcome&)>& done) {
  std::size_t at = 0;
  while (child.received.size() - at >= sizeof(Head)) {
    Head head;
    std::memcpy(&head, child.received.data() + at, sizeof head);
    if (child.received.size() - at - sizeof head < head.size) break;
    std::string text = child.received.substr(at + sizeof head, head.size);
    at += sizeof head + head.size;
    if (head.tag == stop_tag) {
      child.has_stopped = true;
    } else if (head.tag == result_tag) {
      done(child.tasks.first++, {true, std::move(text), {}, ExitCode::done});
    } else {
      done(child.tasks.first++, {false, {}, std::move(text), head.code});
    }
  }
  child.received.erase(0, at);
}

/// Reads what has arrived; true at the end of the child's messages.
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

/// Some of the tasks that nobody has yet, taken out: enough for few processes, and not so many that one of them ends long after the others.
Range next_tasks(std::deque<Range>& waiting, int parallel, bool alone) {
  constexpr int most = 64;
  constexpr int shares = 4;
  Range& first = waiting.front();
  const int all = std::accumulate(waiting.begin(), waiting.end(), 0, [](int sum, const Range& one) { return sum + one.last - one.first; });
  const int count = alone ? 1 : std::min(first.last - first.first, std::clamp(all / (shares * parallel), 1, most));
  const Range tasks = {first.first, first.first + count};
  first.first += count;
  if (first.first == first.last) waiting.pop_front();
  return tasks;
}

}  // namespace

void run_forked(int count, int parallel, const std::function<std::string(int)>& task, const std::function<void(int, const Outcome&)>& done,
                const std::function<bool()>& interrupted, const std::function<bool()>& can_go_on) {
  const Work work = {task, can_go_on};
  const auto stop = [&] { return interrupted && interrupted(); };
  std::vector<Child> running;
  std::deque<Range> waiting;
  if (count > 0) waiting.push_back({0, count});
  while (!stop() && (!waiting.empty() || !running.empty())) {
    while (!waiting.empty() && static_cast<int>(running.size()) < parallel) {
      const Range tasks = next_tasks(waiting, parallel, !can_go_on);
      std::optional<Child> child = start(tasks, running, work);
      if (child) {
        running.push_back(std::move(*child));
        continue;
      }
      const int reason = errno;
      Range left = tasks;
      if (running.empty()) {
        done(left.first++, {false, {}, fmt::format("cannot start its process: {}", std::strerror(reason)), ExitCode::simulation_failed});
      }
      if (left.first < left.last) waiting.push_front(left);
      if (!running.empty()) break;  // again when one has ended
    }
    std::vector<pollfd> polled;
    polled.reserve(running.size());
    for (const Child& child : running) polled.push_back({child.pipe, POLLIN, 0});
    constexpr int patience_ms = 200;  // a signal may arrive between the test and the poll
    if (poll(polled.data(), polled.size(), patience_ms) <= 0) continue;
    for (std::size_t i = polled.size(); i-- > 0;) {
      if (polled[i].revents == 0) continue;
      const bool has_ended = receive(running[i]);
      take_messages(running[i], done);
      if (!has_ended) continue;
      Child ended = std::move(running[i]);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      const int status = reap(ended);
      if (!ended.has_stopped && ended.tasks.first < ended.tasks.last) done(ended.tasks.first++, outcome_of_end(status));
      if (ended.tasks.first < ended.tasks.last) waiting.push_front(ended.tasks);
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

}  // namespace syncopate
