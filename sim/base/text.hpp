#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace syncopate {

/// "a,b" is two items; an empty text is one empty item.
std::vector<std::string> split_at_commas(const std::string& list);

/// The whole of a text as a number, as std::stod reads it.
std::optional<double> to_number(const std::string& text);

/// The candidate that `word` most likely misspells: few edits relative to its length. Nullopt if there is none.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

/// The end of an error message: `; did you mean "x"?` for the nearest candidate, or "".
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

/// A number for a sentence, rounded to `digits` significant digits. The whole part is never rounded, and numbers from 0.0001 to 1e15 have
/// no exponent: "7.2", "130", "12345".
std::string rounded(double value, int digits);

/// A share (0 to 1) as "12.3%".
std::string percent(double share, int decimals = 1);

/// Parses a list of numbers such as "0-3,7": ascending, without repeats, each from 0 to `last`. Nullopt for any other text.
std::optional<std::vector<int>> parse_ranges(std::string_view text, int last);

/// The inverse of parse_ranges: {0,1,2,7} -> "0-2,7". `numbers` must be ascending.
std::string format_ranges(const std::vector<int>& numbers);

/// "no rank", "rank 3" or "ranks 0-2,7", for messages.
std::string describe_ranks(const std::vector<int>& ranks);

/// Parses a time above 0: "90" (seconds), "90s", "5min" or "2h". Nullopt for any other text.
std::optional<Seconds> parse_duration(std::string_view text);

/// Text that is safe on a terminal. Escapes control characters, direction marks and bytes that are not UTF-8, as \\x1b or \\u202e. Newlines
/// are escaped unless `keep_newlines`.
std::string printable(std::string_view text, bool keep_newlines = false);

/// The first bytes of a UTF-8 text, at most `most`, without cutting a character.
std::string_view beginning(std::string_view text, std::size_t most);

/// A UTF-8 text of at most `most` bytes, with "..." in place of a removed middle.
std::string shortened(std::string_view text, std::size_t most);

/// A command's words as a shell line, quoted where needed.
std::string command_line(const std::vector<std::string>& words);

/// A time with four significant digits and a suitable unit: "12.34 ms".
std::string format_seconds(Seconds time);

/// Bytes with four significant digits and a decimal unit: "102.2 MB".
std::string format_bytes(Bytes bytes);

}  // namespace syncopate
