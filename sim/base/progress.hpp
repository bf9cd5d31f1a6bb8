#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "base/units.hpp"

namespace syncopate {

/// A progress bar of one line on stderr. It is silent if stderr is not a terminal, and erased when it goes out of scope.
class ProgressBar {
 public:
  /// `what`: the plural of what is counted, such as "points". A bar with a total of 1 appears after the first second.
  ProgressBar(std::size_t total, std::string what, bool wanted);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void advance();
  /// Adds the elapsed time, the estimated time left and a detail (may be empty) to the bar.
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
