#pragma once

#include "base/errors.hpp"

namespace syncopate {

/// While in scope, SIGINT (Ctrl-C), SIGTERM and SIGHUP set a flag and do not end this process.
class InterruptionWatch {
 public:
  InterruptionWatch();
  ~InterruptionWatch();
  InterruptionWatch(const InterruptionWatch&) = delete;
  InterruptionWatch& operator=(const InterruptionWatch&) = delete;

  /// Whether one of these signals has arrived since the last watch began.
  static bool interrupted();
};

/// An interruption stopped the work before there was a result.
struct Interrupted : Error {
  Interrupted() : Error(ExitCode::interrupted, "interrupted") {}
};

}  // namespace syncopate
