#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <limits>
#include <optional>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <string>

#include "engine/clock/actors.hpp"
#include "engine/simgrid/simgrid_communications.hpp"

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
  // come from calloc.
  constexpr int most_guarded_actors = 30'000;
  if (count <= most_guarded_actors) return;
  s4u::Engine::set_config("contexts/guard-size:0");
  s4u::Engine::set_config("contexts/stack-size:256");
}

class SimGridActors : public Actors {
 public:
  SimGridActors() : engine_(make_engine()) {
    s4u::Engine::on_deadlock_cb([this] {
      has_deadlock_ = true;
      if (deadlock_) deadlock_();
    });
  }

  std::string configure(const std::vector<std::pair<std::string, std::string>>& settings) override {
    if (settings == settings_) return "";
    if (home_ != nullptr) return "this process has used other settings";
    for (const auto& [name, value] : settings) {
      try {
        s4u::Engine::set_config(std::string(name).append(":").append(value));
      } catch (const std::exception& error) {
        return error.what();
      }
    }
    settings_ = settings;
    return "";
  }

  void run(int count, const std::function<void(int)>& body, const std::function<bool()>& pass_time) override {
    create_actors(count, body);
    call_when_idle(pass_time);
    run_all();
  }

  void run_in_time(int count, const std::function<void(int)>& body, const std::function<void(double now)>& reached,
                   const std::function<void()>& deadlock) override {
    begin_ = s4u::Engine::get_clock();
    reached_ = reached;
    deadlock_ = deadlock;
    create_actors(count, body);
    call_at(0.0);
    run_all();
    reached_ = nullptr;
    deadlock_ = nullptr;
  }

  double now() const override { return s4u::Engine::get_clock() - begin_; }

  void call_at(double time) override {
    if (next_call_ && *next_call_ <= time) return;
    next_call_ = time;
    const double date = std::max(begin_ + time, s4u::Engine::get_clock());
    simgrid::kernel::timer::Timer::set(date, [this, time] {
      if (next_call_ == time) next_call_.reset();
      if (reached_) reached_(time);
    });
  }

  Communications& communications() override {
    home();
    return *communications_;
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
  /// Where actors are. With the first zone, SimGrid makes its models, by its settings.
  s4u::Host* home() {
    if (home_ == nullptr) {
      s4u::NetZone* const root = s4u::create_empty_zone("world");
      home_ = root->create_host("home", 1.0);
      communications_.emplace(root);  // SimGrid's tracing wants its zone before the root is sealed
      root->seal();
    }
    return home_;
  }

  void create_actors(int count, const std::function<void(int)>& body) {
    make_room_for(count);
    can_run_ = false;  // stays so if an exception leaves actors behind
    next_call_.reset();
    for (int number = 0; number < count; ++number) {
      s4u::Actor::create("worker", home(), [&body, number] { body(number); });
    }
  }

  void run_all() {
    has_deadlock_ = false;
    engine_.run();
    can_run_ = !has_deadlock_;
  }

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
  std::vector<std::pair<std::string, std::string>> settings_;
  std::optional<SimGridCommunications> communications_;
  // Of a run in time:
  double begin_ = 0.0;               ///< on SimGrid's clock
  std::optional<double> next_call_;  ///< the earliest that is asked for
  std::function<void(double now)> reached_;
  std::function<void()> deadlock_;
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
