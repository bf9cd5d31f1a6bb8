#pragma once

#include "base/errors.hpp"

namespace syncopate {

/// While one lives, SIGINT (Ctrl-C), SIGTERM and SIGHUP do not end this process but are noted.
class InterruptionWatch {
 public:
  InterruptionWatch();
  ~InterruptionWatch();
  InterruptionWatch(const InterruptionWatch&) = delete;
  InterruptionWatch& operator=(const InterruptionWatch&) = delete;

  /// Whether one of them has come since the last watch began.
  static bool interrupted();
};

/// Work that an interruption has left without a result.
struct Interrupted : Error {
  Interrupted() : Error(ExitCode::interrupted, "interrupted") {}
};

}  // namespace syncopate
