#include "cluster/simgrid.hpp"

#include <array>
#include <limits>
#include <memory>
#include <simgrid/s4u.hpp>
#include <string>

#include <malloc.h>

namespace syncopate {

namespace s4u = simgrid::s4u;

namespace {

bool in_use = false;

}  // namespace

bool is_simgrid_in_use() { return in_use; }

s4u::Engine& simgrid_engine() {
  in_use = true;
  static const auto engine = [] {
  // Address sanitiser needs threads: it takes SimGrid's own context switches for stack overflows.
#ifdef SYNCOPATE_THREAD_CONTEXTS
    constexpr const char* factory = "--cfg=contexts/factory:thread";
#else
    constexpr const char* factory = "--cfg=contexts/factory:raw";
#endif
    static std::array<std::string, 9> arguments = {"simctl",
                                                   "--log=root.app:file:/dev/null",
                                                   "--cfg=network/model:CM02",
                                                   "--cfg=network/crosstraffic:0",
                                                   "--cfg=network/TCP-gamma:1e15",
                                                   "--cfg=surf/precision:1e-12",
                                                   "--cfg=maxmin/precision:1e-12",
                                                   "--cfg=contexts/stack-size:64",
                                                   factory};
    std::array<char*, arguments.size() + 1> argv = {};
    for (std::size_t i = 0; i < arguments.size(); ++i) argv[i] = arguments[i].data();
    int argc = static_cast<int>(arguments.size());
    return std::make_unique<s4u::Engine>(&argc, argv.data());
  }();
  return *engine;
}

void make_room_for_actors(int count) {
  // A stack and its guard page are two memory mappings, of which Linux allows a process 65,530 (vm.max_map_count). Stacks without a guard
  // come from calloc, and if that makes a mapping for each, then it need not touch them, and Linux merges such neighbours.
  constexpr int most_guarded_actors = 30'000;
  if (count <= most_guarded_actors) return;
  mallopt(M_MMAP_THRESHOLD, 128 * 1024);
  mallopt(M_MMAP_MAX, std::numeric_limits<int>::max());
  s4u::Engine::set_config("contexts/guard-size:0");
  s4u::Engine::set_config("contexts/stack-size:256");
}

namespace {

struct World {
  s4u::NetZone* zone = nullptr;
  s4u::Host* home = nullptr;
};

World make_world() {
  simgrid_engine();
  World world;
  world.zone = s4u::create_full_zone("world");
  s4u::NetZone* apart = s4u::create_empty_zone("apart")->set_parent(world.zone);
  world.home = apart->create_host("home", 1.0);
  apart->seal();
  return world;
}

/// Made whole at once, because SimGrid adds nothing to it after the first route has been asked for.
const World& world() {
  static const World the_world = make_world();
  return the_world;
}

}  // namespace

s4u::NetZone* simgrid_world() { return world().zone; }

s4u::Host* simgrid_home() { return world().home; }

s4u::NetZone* in_world(s4u::NetZone* (*make)(const std::string& name), const std::string& name) {
  s4u::NetZone* const parent = simgrid_world();
  return make(name)->set_parent(parent);
}

}  // namespace syncopate
