#include "engine/actors.hpp"

#include <fmt/format.h>

#include <dlfcn.h>

#include "base/errors.hpp"

namespace syncopate {

namespace {

bool are_loaded = false;

Actors& load() {
  constexpr const char* library = "libsyncopate-actors.so";
  void* const handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    throw SimulationError(
        fmt::format("{} cannot be loaded, which unequal workers need ({}); build it again, or put it next to simctl", library, dlerror()));
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): dlsym knows no types
  const auto make = reinterpret_cast<void* (*)()>(dlsym(handle, "syncopate_simgrid_actors"));
  are_loaded = true;
  return *static_cast<Actors*>(make());
}

}  // namespace

Actors& actors() {
  static Actors& those = load();
  return those;
}

bool can_run_actors() { return !are_loaded || actors().can_run(); }

}  // namespace syncopate
