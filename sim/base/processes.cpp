#include "base/processes.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <deque>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/descriptors.hpp"
#include "base/indexed.hpp"
#include "base/program.hpp"

#ifdef SYNCOPATE_COVERAGE
extern "C" void __gcov_dump();  // libgcov's
#endif

namespace syncopate {

namespace {

using Clock = std::chrono::steady_clock;  // the same clock in all processes

/// A child's state, in memory that it shares with its parent.
struct Slot {
  std::atomic<int> task{-1};  ///< -1: between two tasks
  std::atomic<Clock::rep> since{0};
  std::atomic<int> done{0};
  std::atomic<int> all{0};
  static_assert(std::atomic<int>::is_always_lock_free && std::atomic<Clock::rep>::is_always_lock_free);

  void begin(int index) {
    task = -1;
    done = 0;
    all = 0;
    since = Clock::now().time_since_epoch().count();
    task = index;
  }

  void end() { task = -1; }

  std::optional<RunningTask> read() const {
    const int index = task;
    const Clock::duration time = Clock::now().time_since_epoch() - Clock::duration(since);
    const RunningTask running = {index, Seconds(std::chrono::duration<double>(time).count()), {done, all}};
    return index >= 0 && task == index ? std::optional(running) : std::nullopt;
  }
};

Slot* own_slot = nullptr;  ///< in a child
int own_pipe = -1;         ///< in a child

/// Slots for `count` children at a time.
class Slots {
 public:
  explicit Slots(int count) : size_(sizeof(Slot) * at(count)) {
    if (count == 0) return;
    memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    for (int i = count; i-- > 0;) free_.push_back(std::construct_at(static_cast<Slot*>(memory_) + i));
  }
  ~Slots() {
    if (memory_ != nullptr) munmap(memory_, size_);
  }
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  Slot* take() {
    Slot* const slot = free_.back();
    free_.pop_back();
    slot->task = -1;
    return slot;
  }
  void give_back(Slot* slot) { free_.push_back(slot); }

 private:
  std::size_t size_;
  void* memory_ = nullptr;
  std::vector<Slot*> free_;
};

struct Work {
  const std::function<std::string(int)>& task;
  const std::function<bool()>& can_go_on;
};

/// Tasks first, first + 1, ... < last.
struct Range {
  int first;
  int last;
};

/// Signs of life of a task. It has stalled when none of them changes.
struct Pulse {
  int task = -1;
  int done = 0;
  Seconds processor_time;
  bool operator==(const Pulse&) const = default;
};

struct Child {
  Range tasks;  ///< not done yet
  pid_t process;
  int pipe;
  Slot* slot;
  std::string received{};
  bool has_stopped = false;              ///< it ended by itself, after a task
  std::optional<RunningTask> overdue{};  ///< the task for which it was killed
  Pulse pulse{};
  Clock::time_point last_beat = Clock::now();
  bool has_stalled = false;  ///< since the last beat, and reported
};

// A child's message is a head, then the result or an error.
constexpr char result_tag = 'R';
constexpr char error_tag = 'E';
constexpr char stop_tag = 'S';  ///< the child does no more tasks

struct Head {
  char tag = result_tag;
  ExitCode code = ExitCode::done;
  std::size_t size = 0;
};
static_assert(std::is_trivially_copyable_v<Head>);

void send(int pipe, char tag, const std::string& text, ExitCode code = ExitCode::done) {
  const Head head = {tag, code, text.size()};
  std::string message(sizeof head, '\0');
  std::memcpy(message.data(), &head, sizeof head);
  write_all(pipe, message + text);
}

/// Ends a child that is out of memory. An exception would not work: some of the called code does not let exceptions pass.
[[noreturn]] void end_without_memory() {
  const Head head = {error_tag, ExitCode::simulation_failed, lack_of_memory.size()};
  write_all(own_pipe, {reinterpret_cast<const char*>(&head), sizeof head});  // NOLINT: a plain struct as bytes
  write_all(own_pipe, lack_of_memory);
  _exit(0);
}

/// Exits without the parent's exit handlers.
[[noreturn]] void end_child() {
#ifdef SYNCOPATE_COVERAGE
  __gcov_dump();  // _exit() skips the handler that writes the coverage
#endif
  _exit(0);
}

[[noreturn]] void run_child(Range tasks, int pipe, pid_t parent, Slot* slot, const Work& work) {
  own_slot = slot;
  own_pipe = pipe;
  std::set_new_handler(end_without_memory);
  // Blocked, not ignored: SimGrid installs a handler of its own, which would run on an actor's small stack.
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigprocmask(SIG_BLOCK, &interrupt, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);  // the parent died before prctl
  const auto start = Clock::now();
  for (int index = tasks.first; index < tasks.last; ++index) {
    slot->begin(index);
    try {
      const std::string result = work.task(index);
      slot->end();
      send(pipe, result_tag, result);
    } catch (const Error& error) {
      send(pipe, error_tag, error.what(), error.code());
    } catch (const std::bad_alloc&) {
      send(pipe, error_tag, std::string(lack_of_memory), ExitCode::simulation_failed);
    } catch (const std::exception& error) {
      send(pipe, error_tag, error.what(), ExitCode::simulation_failed);
    }
    // A longer task gets a process of its own: forking costs little compared to it, and the load is balanced better.
    constexpr std::chrono::milliseconds long_enough(50);
    if (!work.can_go_on || !work.can_go_on() || Clock::now() - start > long_enough) break;
  }
  send(pipe, stop_tag, "");
  end_child();
}

/// Nullopt, with errno set, when the system has no more pipes or processes.
std::optional<Child> start(Range tasks, const std::vector<Child>& running, Slots& slots, const Work& work) {
  std::array<int, 2> ends = {};
  if (pipe(ends.data()) != 0) return std::nullopt;
  std::fflush(nullptr);  // otherwise the child would write the buffers again
  const pid_t parent = getpid();
  Slot* const slot = slots.take();
  const pid_t process = fork();
  if (process < 0) {
    const int reason = errno;
    close(ends[0]);
    close(ends[1]);
    slots.give_back(slot);
    errno = reason;
    return std::nullopt;
  }
  if (process == 0) {
    close(ends[0]);
    for (const Child& sibling : running) close(sibling.pipe);  // leaves more descriptors to the task
    run_child(tasks, ends[1], parent, slot, work);
  }
  close(ends[1]);
  return Child{tasks, process, ends[0], slot};
}

/// The outcome of the task that a child was running when it died.
Outcome outcome_of_end(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const char* hint = signal == SIGKILL ? " (out of memory?)" : "";
    return {false,
            {},
            fmt::format("its process was killed by signal {} ({}){}", signal, strsignal(signal), hint),
            ExitCode::simulation_failed,
            signal == SIGABRT || signal == SIGSEGV};
  }
  return {false, {}, fmt::format("its process ended with status {} and no result", WEXITSTATUS(status)), ExitCode::simulation_failed};
}

/// Takes complete messages out of the received bytes.
void take_messages(Child& child, const std::function<void(int, const Outcome&)>& done) {
  std::size_t begin = 0;
  while (child.received.size() - begin >= sizeof(Head)) {
    Head head;
    std::memcpy(&head, child.received.data() + begin, sizeof head);
    if (child.received.size() - begin - sizeof head < head.size) break;
    std::string text = child.received.substr(begin + sizeof head, head.size);
    begin += sizeof head + head.size;
    if (head.tag == stop_tag) {
      child.has_stopped = true;
    } else if (head.tag == result_tag) {
      done(child.tasks.first++, {true, std::move(text), {}, ExitCode::done});
    } else {
      done(child.tasks.first++, {false, {}, std::move(text), head.code});
    }
  }
  child.received.erase(0, begin);
}

/// Reads what has arrived. Returns true at the end of the child's messages.
bool receive(Child& child) {
  std::array<char, 65536> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): read() fills it
  const ssize_t count = read(child.pipe, buffer.data(), buffer.size());
  if (count > 0) child.received.append(buffer.data(), static_cast<std::size_t>(count));
  return count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN);
}

int reap(const Child& child, Slots& slots) {
  close(child.pipe);
  slots.give_back(child.slot);
  int status = 0;
  while (waitpid(child.process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

/// Takes some waiting tasks for one child. Large ranges need few processes, small ones let all children end at about the same time.
Range next_tasks(std::deque<Range>& waiting, int parallel, bool alone) {
  constexpr int most = 64;
  constexpr int shares = 4;
  Range& first = waiting.front();
  const int all =
      std::accumulate(waiting.begin(), waiting.end(), 0, [](int sum, const Range& range) { return sum + range.last - range.first; });
  const int count = alone ? 1 : std::min(first.last - first.first, std::clamp(all / (shares * parallel), 1, most));
  const Range tasks = {first.first, first.first + count};
  first.first += count;
  if (first.first == first.last) waiting.pop_front();
  return tasks;
}

/// Processor time that a process has used. 0 if it has ended.
Seconds processor_time(pid_t process) {
  clockid_t clock = {};
  timespec time = {};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) return Seconds(0);
  return Seconds(static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec));
}

/// Reports a child, once, that has shown no sign of life for `watch.patience`.
void feel_pulse(Child& child, const RunningTask& task, const Watch& watch) {
  const Pulse pulse = {task.index, task.headway.done, processor_time(child.process)};
  const auto now = Clock::now();
  if (pulse != child.pulse) {
    child.pulse = pulse;
    child.last_beat = now;
    child.has_stalled = false;
  } else if (!child.has_stalled && std::chrono::duration<double>(now - child.last_beat).count() > watch.patience.value) {
    child.has_stalled = true;
    watch.stalled(task);
  }
}

/// Passes the running tasks to `watch.look` and kills those that take too long.
void watch_over(std::vector<Child>& running, const Watch& watch) {
  std::vector<RunningTask> tasks;
  for (Child& child : running) {
    std::optional<RunningTask> task = child.slot->read();
    // The outcome of the child's previous task has not arrived yet.
    if (!task || task->index != child.tasks.first || child.overdue) continue;
    task->process = child.process;
    tasks.push_back(*task);
    if (watch.stalled) feel_pulse(child, *task, watch);
    if (!watch.most_time || task->time <= *watch.most_time) continue;
    child.overdue = task;
    kill(child.process, SIGKILL);
  }
  if (watch.look) watch.look(tasks);
}

/// For a child that has ended: the tasks that it has not done. Calls `done` for the task that it was running, if that failed.
Range end_of(const Child& child, int status, const Watch& watch, const std::function<void(int, const Outcome&)>& done) {
  Range left = child.tasks;
  const bool has_failed = !child.has_stopped && left.first < left.last;
  if (child.overdue && child.overdue->index == left.first) {
    done(left.first++, {false, {}, watch.overdue(*child.overdue), ExitCode::simulation_failed});
  } else if (has_failed && !child.overdue) {  // if the overdue task ended just before the kill, the task after it did not fail
    done(left.first++, outcome_of_end(status));
  }
  return left;
}

}  // namespace

void tell_headway(const Headway& headway) {
  if (own_slot == nullptr) return;
  own_slot->all = headway.all;
  own_slot->done = headway.done;
}

void run_forked(int count, int parallel, const std::function<std::string(int)>& task, const std::function<void(int, const Outcome&)>& done,
                const std::function<bool()>& interrupted, const std::function<bool()>& can_go_on, const Watch& watch) {
  const Work work = {task, can_go_on};
  const auto stop = [&] { return interrupted && interrupted(); };
  Slots slots(std::min(count, parallel));
  constexpr std::chrono::milliseconds patience(200);  // not longer: a signal may arrive between the test and poll()
  Clock::time_point last_look = Clock::now();
  std::vector<Child> running;
  std::deque<Range> waiting;
  if (count > 0) waiting.push_back({0, count});
  while (!stop() && (!waiting.empty() || !running.empty())) {
    while (!waiting.empty() && static_cast<int>(running.size()) < parallel) {
      const Range tasks = next_tasks(waiting, parallel, !can_go_on);
      std::optional<Child> child = start(tasks, running, slots, work);
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
      if (!running.empty()) break;  // try again when a child has ended
    }
    if (Clock::now() - last_look >= patience) {
      watch_over(running, watch);
      last_look = Clock::now();
    }
    std::vector<pollfd> polled;
    polled.reserve(running.size());
    for (const Child& child : running) polled.push_back({child.pipe, POLLIN, 0});
    if (poll(polled.data(), polled.size(), static_cast<int>(patience.count())) <= 0) continue;
    for (std::size_t i = polled.size(); i-- > 0;) {
      if (polled[i].revents == 0) continue;
      const bool has_ended = receive(running[i]);
      take_messages(running[i], done);
      if (!has_ended) continue;
      Child ended = std::move(running[i]);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      const Range left = end_of(ended, reap(ended, slots), watch, done);
      if (left.first < left.last) waiting.push_front(left);
    }
  }
  for (const Child& child : running) {
    kill(child.process, SIGKILL);
    reap(child, slots);
  }
}

Outcome run_apart(const std::function<std::string()>& task, const std::function<bool()>& interrupted, const Watch& watch) {
  Outcome outcome;
  run_forked(
      1, 1, [&](int /*index*/) { return task(); }, [&](int /*index*/, const Outcome& ended) { outcome = ended; }, interrupted, {}, watch);
  return outcome;
}

}  // namespace syncopate
