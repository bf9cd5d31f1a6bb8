#include "base/interruption.hpp"

#include <array>
#include <csignal>

namespace syncopate {

namespace {

constexpr std::array signals = {SIGHUP, SIGINT, SIGTERM};
volatile std::sig_atomic_t has_come = 0;

/// What is ignored, as under nohup, stays so.
void handle_by(void (*handler)(int)) {
  for (const int signal : signals) {
    if (std::signal(signal, handler) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
}

}  // namespace

InterruptionWatch::InterruptionWatch() {
  has_come = 0;
  handle_by([](int) { has_come = 1; });
}

InterruptionWatch::~InterruptionWatch() { handle_by(SIG_DFL); }

bool InterruptionWatch::interrupted() { return has_come != 0; }

}  // namespace syncopate
