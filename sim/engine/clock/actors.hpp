#pragma once

#include <filesystem>
#include <functional>

namespace syncopate {

/// Runs functions side by side, each of which goes on where it was when it waited: actors, SimGrid's. They have no clock; time is ours.
///
/// A library of its own, which is loaded at first use: it takes longer to load than most commands of simctl to run.
class Actors {
 public:
  Actors() = default;
  Actors(const Actors&) = delete;
  Actors& operator=(const Actors&) = delete;
  virtual ~Actors() = default;

  /// Calls body(0) to body(count - 1), each as an actor, until all have returned or been ended. Whenever none of them can go on,
  /// `pass_time` lets one do so; where it cannot, it returns false, and those that are left are ended. A body lets no exception out.
  virtual void run(int count, const std::function<void(int)>& body, const std::function<bool()>& pass_time) = 0;

  /// No run before has left actors waiting: there may be another one.
  virtual bool can_run() const = 0;

  // For the actor that is running:

  virtual void* self() = 0;
  /// Goes on after resume(self()).
  virtual void suspend() = 0;
  virtual void end_others() = 0;

  /// For anyone.
  virtual void resume(void* actor) = 0;
};

/// The library's file: beside the program, or where an installation puts it.
std::filesystem::path actors_file();

/// Loads the library, so that processes forked later need not, unless it is missing.
void load_actors();

/// Those of the process, which it has one of. Throws SimulationError where the library is missing.
Actors& actors();

/// Whether a run may begin in this process: not after one that left actors waiting.
bool can_run_actors();

}  // namespace syncopate
