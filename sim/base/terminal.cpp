#include "base/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/errors.hpp"
#include "base/text.hpp"

namespace syncopate {

namespace {

int reason_of_loss = 0;  ///< errno of the first failed write to stdout; 0: none

void print_bytes(std::FILE* stream, std::string_view text) {
  const bool is_lost = std::fwrite(text.data(), 1, text.size(), stream) < text.size();
  if (is_lost && stream == stdout && reason_of_loss == 0) reason_of_loss = errno;
}

/// Whether a stream is a terminal that shows colours, and the user wants them (https://no-color.org).
bool has_colors(int descriptor) {
  const auto value = [](const char* variable) {
    const char* const text = std::getenv(variable);
    return std::string_view(text == nullptr ? "" : text);
  };
  return isatty(descriptor) == 1 && value("NO_COLOR").empty() && !value("TERM").empty() && value("TERM") != "dumb";
}

/// The message with its beginning, "program:" or "program: warning:", in red or yellow. A note has no program's name.
std::string with_colored_begin(const std::string& message) {
  constexpr std::string_view warning = ": warning:";
  const std::size_t end = message.find(':');
  if (end == std::string::npos || message.starts_with("note:")) return message;
  const bool is_warning = std::string_view(message).substr(end).starts_with(warning);
  const std::size_t size = is_warning ? end + warning.size() : end + 1;
  return fmt::format("\x1b[{}m{}\x1b[0m{}", is_warning ? 33 : 31, message.substr(0, size), message.substr(size));
}

}  // namespace

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

void print_data(std::string_view text) { print_bytes(stdout, isatty(STDOUT_FILENO) == 1 ? printable(text, true) : text); }

void print_text(std::FILE* stream, std::string_view text) { print_bytes(stream, printable(text, true)); }

void print_line_of_error(std::string_view message) {
  constexpr std::size_t most = 4000;
  const std::string text = printable(shortened(message, most));
  print_bytes(stderr, (has_colors(STDERR_FILENO) ? with_colored_begin(text) : text) + '\n');
}

void finish_stdout() {
  if (std::fflush(stdout) != 0 && reason_of_loss == 0) reason_of_loss = errno;
  if (reason_of_loss != 0) throw OutputError(fmt::format("standard output cannot be written: {}", std::strerror(reason_of_loss)));
}

}  // namespace syncopate
