#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "base/units.hpp"

namespace syncopate {

/// A progress bar on stderr, one line of it; silent where stderr is no terminal. Erased when it goes out of scope.
class ProgressBar {
 public:
  /// `what` is counted, in the plural: "points". Where there is but one, nothing is drawn in the first second.
  ProgressBar(std::size_t total, std::string what, bool wanted);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void advance();
  /// Draws the time that has passed, too, the time that is left, about, and what is going on, which may be empty.
  void show(Seconds left, std::string detail);

 private:
  using Clock = std::chrono::steady_clock;

  void draw();
  Seconds elapsed() const;

  std::size_t total_;
  std::string what_;
  std::size_t done_ = 0;
  bool shown_;
  Clock::time_point start_ = Clock::now();
  std::optional<Seconds> left_{};
  std::string detail_;
};

}  // namespace syncopate
