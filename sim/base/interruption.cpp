#include "base/interruption.hpp"

#include <array>
#include <csignal>

namespace syncopate {

namespace {

constexpr std::array signals = {SIGHUP, SIGINT, SIGTERM};
volatile std::sig_atomic_t has_come = 0;

}  // namespace

InterruptionWatch::InterruptionWatch() {
  has_come = 0;
  for (const int signal : signals) {
    if (std::signal(signal, [](int) { has_come = 1; }) == SIG_IGN) std::signal(signal, SIG_IGN);  // nohup
  }
}

InterruptionWatch::~InterruptionWatch() {
  for (const int signal : signals) {
    if (std::signal(signal, SIG_DFL) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
}

bool InterruptionWatch::interrupted() { return has_come != 0; }

}  // namespace syncopate
