#include "base/interruption.hpp"

#include <csignal>

namespace syncopate {

namespace {

volatile std::sig_atomic_t has_come = 0;

}  // namespace

InterruptionWatch::InterruptionWatch() {
  has_come = 0;
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) std::signal(signal, [](int) { has_come = 1; });
}

InterruptionWatch::~InterruptionWatch() {
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
}

bool InterruptionWatch::interrupted() { return has_come != 0; }

}  // namespace syncopate
