#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

namespace syncopate {

/// Columns of the terminal behind a file descriptor: as it says itself, else as COLUMNS does, else 80. Nullopt where there is none.
std::optional<std::size_t> terminal_width(int descriptor);

/// Prints what another program may read, as it is. What cannot be printed is told by finish_stdout.
void print_data(std::string_view text);

/// Prints text for people: printable, with its newlines.
void print_text(std::FILE* stream, std::string_view text);

/// Prints one line on stderr, whatever is in the message: printable, and shortened where it is very long.
void print_line_of_error(std::string_view message);

/// print_text of what fmt::format makes.
template <class... Arguments>
void display(std::FILE* stream, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  print_text(stream, fmt::format(format, std::forward<Arguments>(arguments)...));
}

template <class... Arguments>
void display(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  print_text(stdout, fmt::format(format, std::forward<Arguments>(arguments)...));
}

/// print_line_of_error of what fmt::format makes.
template <class... Arguments>
void complain(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  print_line_of_error(fmt::format(format, std::forward<Arguments>(arguments)...));
}

/// Throws OutputError unless all that was printed on stdout has arrived.
void finish_stdout();

}  // namespace syncopate
