#include "engine/actors.hpp"

#include <fmt/format.h>

#include <dlfcn.h>

#include "base/errors.hpp"

namespace syncopate {

namespace {

constexpr const char* library = "libsyncopate-actors.so";

bool are_made = false;

void* handle() {
  static void* const the_handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  return the_handle;
}

Actors& make() {
  void* const function = handle() == nullptr ? nullptr : dlsym(handle(), "syncopate_simgrid_actors");
  if (function == nullptr) {
    throw SimulationError(
        fmt::format("{} cannot be loaded, which several workers need ({}); build it again, or put it next to simctl", library, dlerror()));
  }
  are_made = true;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): dlsym knows no types
  return *static_cast<Actors*>(reinterpret_cast<void* (*)()>(function)());
}

}  // namespace

void load_actors() { handle(); }

Actors& actors() {
  static Actors& those = make();
  return those;
}

bool can_run_actors() { return !are_made || actors().can_run(); }

}  // namespace syncopate
