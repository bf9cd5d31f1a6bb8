#pragma once

#include <functional>
#include <string>

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

/// Runs task(0) ... task(count - 1) in processes forked from this one, at most `parallel` at a time. Calls done(index, outcome) here as
/// they end, in any order. A task that throws or crashes gives a failed outcome, and leaves the others alone.
///
/// `can_go_on`: asked in a task's process when it is done, whether another one may follow there; if empty, each has its own.
///
/// When `interrupted` becomes true (a signal handler may set it) no more tasks are started and the running ones are
/// killed without a call of done. Children block SIGINT and die with this process.
void run_forked(int count, int parallel, const std::function<std::string(int)>& task, const std::function<void(int, const Outcome&)>& done,
                const std::function<bool()>& interrupted = {}, const std::function<bool()>& can_go_on = {});

/// What the machine can give to new processes without swapping.
Bytes available_memory();

}  // namespace syncopate
