#pragma once

#include <cstddef>
#include <optional>

namespace syncopate {

/// Columns of the terminal behind a file descriptor: as it says itself, else as COLUMNS does, else 80. Nullopt where there is none.
std::optional<std::size_t> terminal_width(int descriptor);

}  // namespace syncopate
