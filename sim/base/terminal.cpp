#include "base/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace syncopate {

std::optional<std::size_t> terminal_width(int descriptor) {
  if (isatty(descriptor) != 1) return std::nullopt;
  winsize size = {};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* const variable = std::getenv("COLUMNS");
  const std::string_view text = variable == nullptr ? "" : variable;
  std::size_t columns = 0;
  std::from_chars(text.data(), text.data() + text.size(), columns);
  constexpr std::size_t usual = 80;
  return columns > 0 ? columns : usual;
}

}  // namespace syncopate
