#include "base/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/terminal.hpp"

namespace syncopate {

namespace {

/// "0:07", "12:34", "1:02:03".
std::string clock_time(Seconds time) {
  const auto seconds = static_cast<std::int64_t>(std::ceil(time.value));
  const std::int64_t minutes = seconds / 60;
  return minutes < 60 ? fmt::format("{}:{:02}", minutes, seconds % 60)
                      : fmt::format("{}:{:02}:{:02}", minutes / 60, minutes % 60, seconds % 60);
}

}  // namespace

ProgressBar::ProgressBar(std::size_t total, std::string what, bool wanted)
    : total_(total), what_(std::move(what)), shown_(wanted && total > 0 && terminal_width(STDERR_FILENO).has_value()) {
  draw();
}

ProgressBar::~ProgressBar() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
}

void ProgressBar::advance() {
  ++done_;
  draw();
}

void ProgressBar::show(Seconds left, std::string detail) {
  left_ = left;
  detail_ = std::move(detail);
  draw();
}

Seconds ProgressBar::elapsed() const { return Seconds(std::chrono::duration<double>(Clock::now() - start_).count()); }

void ProgressBar::draw() {
  constexpr Seconds noticeable(1.0);
  if (!shown_ || (total_ == 1 && elapsed() < noticeable)) return;
  constexpr std::size_t width = 40;
  const std::size_t filled = width * done_ / total_;
  std::string line = fmt::format("[{:#<{}}{:.<{}}] {}/{} {}", "", filled, "", width - filled, done_, total_, what_);
  if (left_) line += fmt::format(", {} elapsed, about {} left{}", clock_time(elapsed()), clock_time(*left_), detail_);
  // A line that reaches the last column could not be erased.
  constexpr std::size_t usual = 80;  // if there is no terminal any more
  line = line.substr(0, terminal_width(STDERR_FILENO).value_or(usual) - 1);
  std::fputs(fmt::format("\r{}\x1b[K", line).c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace syncopate
