#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

namespace syncopate {

/// Width of the terminal behind a file descriptor in columns: from the terminal, else from $COLUMNS, else 80. Nullopt if it is not a
/// terminal.
std::optional<std::size_t> terminal_width(int descriptor);

/// Prints data for other programs on stdout, unchanged unless stdout is a terminal. finish_stdout reports errors.
void print_data(std::string_view text);

/// Prints text for people: escaped by `printable`, newlines kept.
void print_text(std::FILE* stream, std::string_view text);

/// Prints the message on stderr in one line, escaped by `printable`, and shortened to 4000 bytes. On a terminal, the program's name before
/// an error is red, before a warning yellow, unless NO_COLOR is set or TERM is unset or dumb.
void print_line_of_error(std::string_view message);

/// fmt::format, then print_text; without a stream on stdout.
template <class... Arguments>
void display(std::FILE* stream, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  print_text(stream, fmt::format(format, std::forward<Arguments>(arguments)...));
}

template <class... Arguments>
void display(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  print_text(stdout, fmt::format(format, std::forward<Arguments>(arguments)...));
}

/// fmt::format, then print_line_of_error.
template <class... Arguments>
void complain(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  print_line_of_error(fmt::format(format, std::forward<Arguments>(arguments)...));
}

/// Flushes stdout. Throws OutputError if any write to stdout failed.
void finish_stdout();

}  // namespace syncopate
