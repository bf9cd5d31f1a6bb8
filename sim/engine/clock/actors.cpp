#include "engine/clock/actors.hpp"

#include <fmt/format.h>

#include <string>

#include <dlfcn.h>

#include "base/errors.hpp"
#include "base/project_files.hpp"

namespace syncopate {

namespace {

constexpr const char* library = "libsyncopate-actors.so";

bool are_made = false;

/// The function in the shared library that makes the actors, or the reason why it could not be loaded.
struct Maker {
  void* function = nullptr;
  std::string error;
};

Maker find_maker() {
  void* const handle = dlopen(actors_file().c_str(), RTLD_LAZY | RTLD_LOCAL);
  void* const function = handle == nullptr ? nullptr : dlsym(handle, "syncopate_simgrid_actors");
  return {function, function == nullptr ? dlerror() : ""};
}

const Maker& maker() {
  static const Maker found = find_maker();
  return found;
}

Actors& make() {
  if (maker().function == nullptr) {
    throw SimulationError(
        fmt::format("{}, which is needed to simulate several workers, cannot be loaded ({}); build it again, or put it next to simctl",
                    library, maker().error));
  }
  are_made = true;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): dlsym knows no types
  return *static_cast<Actors*>(reinterpret_cast<void* (*)()>(maker().function)());
}

}  // namespace

std::filesystem::path actors_file() { return beside_program(library); }

void load_actors() { maker(); }

Actors& actors() {
  static Actors& made = make();
  return made;
}

bool has_actors() { return are_made; }

bool can_run_actors() { return !are_made || actors().can_run(); }

}  // namespace syncopate
