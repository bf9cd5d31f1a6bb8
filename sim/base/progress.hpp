#pragma once

#include <cstddef>
#include <string>

namespace syncopate {

/// A progress bar on stderr; silent where stderr is no terminal. Erased when it goes out of scope.
class ProgressBar {
 public:
  /// `what` is counted, in the plural: "points".
  ProgressBar(std::size_t total, std::string what, bool wanted);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void advance();

 private:
  void draw() const;

  std::size_t total_;
  std::string what_;
  std::size_t done_ = 0;
  bool shown_;
};

}  // namespace syncopate
