#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/errors.hpp"
#include "base/units.hpp"

namespace syncopate {

/// How one task ended.
struct Outcome {
  bool ok = false;
  std::string result;  ///< what the task returned
  std::string error;   ///< why it failed
  ExitCode code = ExitCode::done;
  bool crashed = false;  ///< a signal that its own program caused ended the process
};

/// Progress of a task, in steps that the task defines.
struct Headway {
  int done = 0;
  int all = 0;  ///< 0: unknown
};

/// Reports the progress of the task that this process runs. Does nothing in a process that run_forked did not start.
void tell_headway(const Headway& headway);

/// A running task.
struct RunningTask {
  int index = 0;
  Seconds time;  ///< wall-clock time so far
  Headway headway;
  int process = 0;  ///< process id
};

/// Callbacks and limits for running tasks.
struct Watch {
  std::function<void(const std::vector<RunningTask>&)> look{};  ///< about five times a second
  std::optional<Seconds> most_time{};                           ///< a task that takes longer is killed and fails ...
  std::function<std::string(const RunningTask&)> overdue{};     ///< ... with this error
  Seconds patience{60.0};                                       ///< a task that reports no progress and uses no processor for so long ...
  std::function<void(const RunningTask&)> stalled{};            ///< ... is passed to this function, once
};

/// Runs task(0) ... task(count - 1) in forked processes, at most `parallel` at a time.
/// - `done(index, outcome)` is called in this process as tasks end, in any order. A task that throws or crashes has a failed outcome; the
///   other tasks go on.
/// - `can_go_on` is called in a task's process after the task. True: the process may run another task. If empty, every task has its own
///   process.
/// - `watch`: callbacks while tasks run.
/// - When `interrupted` becomes true (a signal handler may set it), no more tasks start and the running ones are killed without a call of
///   `done`.
/// Children block SIGINT and die with this process.
void run_forked(int count, int parallel, const std::function<std::string(int)>& task, const std::function<void(int, const Outcome&)>& done,
                const std::function<bool()>& interrupted = {}, const std::function<bool()>& can_go_on = {}, const Watch& watch = {});

/// How one task ended that ran in a process of its own; if it was interrupted, an outcome that is not ok.
Outcome run_apart(const std::function<std::string()>& task, const std::function<bool()>& interrupted = {}, const Watch& watch = {});

}  // namespace syncopate
