#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace syncopate {

class Communications;

/// Runs functions as actors, side by side; each goes on where it waited. They are SimGrid's actors, with or without its clock.
///
/// They are a library of their own, loaded at first use: it takes longer to load than most commands of simctl take to run.
class Actors {
 public:
  Actors() = default;
  Actors(const Actors&) = delete;
  Actors& operator=(const Actors&) = delete;
  virtual ~Actors() = default;

  /// Calls body(0) to body(count - 1), each as an actor, until all have returned or been ended. Whenever none of them can go on,
  /// `pass_time` is called to resume one; where it returns false, the actors that are left are ended. A body lets no exception out.
  virtual void run(int count, const std::function<void(int)>& body, const std::function<bool()>& pass_time) = 0;

  /// The same on SimGrid's clock, which begins at 0 with each run. `reached` is called at 0 and at the times that call_at() asks for,
  /// `deadlock` when nothing is left to happen but actors wait.
  virtual void run_in_time(int count, const std::function<void(int)>& body, const std::function<void(double now)>& reached,
                           const std::function<void()>& deadlock) = 0;

  // While actors run in time:

  virtual double now() const = 0;
  virtual void call_at(double time) = 0;
  virtual Communications& communications() = 0;

  /// SimGrid's settings, as names and values. To be called before anything else of them, and with the same settings every time. Returns
  /// SimGrid's reason where it refuses one; else "".
  virtual std::string configure(const std::vector<std::pair<std::string, std::string>>& settings) = 0;

  /// Whether there may be another run: none before has left actors waiting.
  virtual bool can_run() const = 0;

  // For the actor that is running:

  virtual void* self() = 0;
  /// Goes on after resume(self()).
  virtual void suspend() = 0;
  virtual void end_others() = 0;

  // For anyone:

  virtual void resume(void* actor) = 0;
};

/// The library's file: beside the program, or where an installation puts it.
std::filesystem::path actors_file();

/// Loads the library, so that processes forked later need not, unless it is missing.
void load_actors();

/// The process's only Actors. Throws SimulationError where the library is missing.
Actors& actors();

/// Whether this process has made its Actors.
bool has_actors();

/// Whether a run may begin in this process: not after a run that left actors waiting.
bool can_run_actors();

}  // namespace syncopate
