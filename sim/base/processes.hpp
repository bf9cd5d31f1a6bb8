#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/errors.hpp"
#include "base/units.hpp"

namespace syncopate {

/// What became of one task.
struct Outcome {
  bool ok = false;
  std::string result;  ///< what the task returned
  std::string error;   ///< why it failed
  ExitCode code = ExitCode::done;
};

/// How far a task has come, in steps of its own.
struct Headway {
  int done = 0;
  int all = 0;  ///< 0: it has not said
};

/// In a task's process: tells those who watch how far it has come. Elsewhere nobody hears it.
void tell_headway(const Headway& headway);

/// A task that runs.
struct RunningTask {
  int index = 0;
  Seconds time;  ///< that it has taken so far
  Headway headway;
  int process = 0;  ///< its number
};

/// What happens to tasks while they run.
struct Watch {
  std::function<void(const std::vector<RunningTask>&)> look{};  ///< about five times a second
  std::optional<Seconds> most_time{};                           ///< a task that takes longer is ended, and has failed ...
  std::function<std::string(const RunningTask&)> overdue{};     ///< ... with this error
  Seconds patience{60.0};                                       ///< with a task that neither says that it gets on nor uses a processor, ...
  std::function<void(const RunningTask&)> stalled{};            ///< ... of which this then hears, once
};

/// Runs task(0) ... task(count - 1) in processes forked from this one, at most `parallel` at a time. Calls done(index, outcome) here as
/// they end, in any order. A task that throws or crashes gives a failed outcome, and leaves the others alone.
///
/// `can_go_on`: asked in a task's process when it is done, whether another one may follow there; if empty, each has its own.
///
/// `watch`: what is seen of tasks while they run.
///
/// When `interrupted` becomes true (a signal handler may set it) no more tasks are started and the running ones are
/// killed without a call of done. Children block SIGINT and die with this process.
void run_forked(int count, int parallel, const std::function<std::string(int)>& task, const std::function<void(int, const Outcome&)>& done,
                const std::function<bool()>& interrupted = {}, const std::function<bool()>& can_go_on = {}, const Watch& watch = {});

}  // namespace syncopate
