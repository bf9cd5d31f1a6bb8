#include "base/interruption.hpp"

#include <array>
#include <csignal>

namespace syncopate {

namespace {

constexpr std::array signals = {SIGHUP, SIGINT, SIGTERM};
volatile std::sig_atomic_t is_interrupted = 0;

/// Signals that are ignored, as under nohup, stay ignored.
void handle_by(void (*handler)(int)) {
  for (const int signal : signals) {
    if (std::signal(signal, handler) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
}

}  // namespace

InterruptionWatch::InterruptionWatch() {
  is_interrupted = 0;
  handle_by([](int) { is_interrupted = 1; });
}

InterruptionWatch::~InterruptionWatch() { handle_by(SIG_DFL); }

bool InterruptionWatch::interrupted() { return is_interrupted != 0; }

}  // namespace syncopate
