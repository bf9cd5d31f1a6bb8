#include "base/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace syncopate {

ProgressBar::ProgressBar(std::size_t total, std::string what, bool wanted)
    : total_(total), what_(std::move(what)), shown_(wanted && total > 1 && isatty(STDERR_FILENO) == 1) {
  draw();
}

ProgressBar::~ProgressBar() {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
}

void ProgressBar::advance() {
  ++done_;
  draw();
}

void ProgressBar::draw() const {
  if (!shown_) return;
  constexpr std::size_t width = 40;
  const std::size_t filled = width * done_ / total_;
  fmt::print(stderr, "\r[{:#<{}}{:.<{}}] {}/{} {}", "", filled, "", width - filled, done_, total_, what_);
  std::fflush(stderr);
}

}  // namespace syncopate
