#include <array>
#include <cmath>
#include <limits>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <string>

#include <malloc.h>

#include "engine/clock/actors.hpp"

namespace syncopate {

namespace s4u = simgrid::s4u;

namespace {

/// Makes SimGrid's engine, without its log.
s4u::Engine& make_engine() {
  // AddressSanitizer needs threads: it mistakes SimGrid's own context switches for stack overflows.
#ifdef SYNCOPATE_THREAD_CONTEXTS
  constexpr const char* factory = "--cfg=contexts/factory:thread";
#else
  constexpr const char* factory = "--cfg=contexts/factory:raw";
#endif
  static std::array<std::string, 4> arguments = {"simctl", "--log=root.app:file:/dev/null", "--cfg=contexts/stack-size:64", factory};
  std::array<char*, arguments.size() + 1> argv = {};
  for (std::size_t i = 0; i < arguments.size(); ++i) argv[i] = arguments[i].data();
  int argc = static_cast<int>(arguments.size());
  static s4u::Engine engine(&argc, argv.data());
  return engine;
}

void make_room_for(int count) {
  // A stack and its guard page are two memory mappings. Linux allows a process 65,530 mappings (vm.max_map_count). Stacks without guard
  // come from calloc. With one mapping per stack calloc need not clear the memory, and Linux merges adjacent mappings.
  constexpr int most_guarded_actors = 30'000;
  if (count <= most_guarded_actors) return;
  mallopt(M_MMAP_THRESHOLD, 128 * 1024);
  mallopt(M_MMAP_MAX, std::numeric_limits<int>::max());
  s4u::Engine::set_config("contexts/guard-size:0");
  s4u::Engine::set_config("contexts/stack-size:256");
}

class SimGridActors : public Actors {
 public:
  SimGridActors() : engine_(make_engine()) {
    s4u::NetZone* zone = s4u::create_empty_zone("world");
    home_ = zone->create_host("home", 1.0);
    zone->seal();
  }

  void run(int count, const std::function<void(int)>& body, const std::function<bool()>& pass_time) override {
    make_room_for(count);
    can_run_ = false;  // stays so if an exception leaves actors behind
    for (int number = 0; number < count; ++number) {
      s4u::Actor::create("worker", home_, [&body, number] { body(number); });
    }
    call_when_idle(pass_time);
    has_deadlock_ = false;
    engine_.run();
    can_run_ = !has_deadlock_;
  }

  bool can_run() const override { return can_run_; }
  void* self() override { return s4u::Actor::self(); }
  void suspend() override { s4u::this_actor::suspend(); }
  void resume(void* actor) override { static_cast<s4u::Actor*>(actor)->resume(); }

  void end_others() override {
    // Not Actor::kill_all(): for each actor it searches the list of killed actors, which is quadratic. A yield empties this list.
    constexpr int at_once = 1024;
    int ended = 0;
    for (const s4u::ActorPtr& actor : engine_.get_all_actors()) {
      if (actor.get() == s4u::Actor::self()) continue;
      actor->kill();
      if (++ended % at_once == 0) s4u::this_actor::yield();
    }
  }

 private:
  /// A timer at the next representable time: SimGrid calls it when no actor can go on.
  void call_when_idle(const std::function<bool()>& pass_time) {
    const double next = std::nextafter(s4u::Engine::get_clock(), std::numeric_limits<double>::infinity());
    simgrid::kernel::timer::Timer::set(next, [this, &pass_time] {
      if (engine_.get_actor_count() == 0) return;
      if (pass_time()) return call_when_idle(pass_time);
      has_deadlock_ = true;
    });
  }

  s4u::Engine& engine_;
  s4u::Host* home_ = nullptr;
  bool can_run_ = true;
  bool has_deadlock_ = false;
};

}  // namespace

}  // namespace syncopate

/// Returns the process's only Actors*. actors.cpp calls it.
extern "C" void* syncopate_simgrid_actors() {
  static syncopate::SimGridActors actors;
  return static_cast<syncopate::Actors*>(&actors);
}
