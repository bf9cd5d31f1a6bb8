#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace syncopate {

/// The candidate that `word` most likely misspells (few edits, relative to its length), if any.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

/// `; did you mean "x"?` for the nearest candidate, else an empty string: the tail of an error message.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

/// A number in a sentence: rounded to so many significant digits, but never within its whole part, and without an exponent from 0.0001 to
/// 1e15: "7.2", "130", "12345".
std::string rounded(double value, int digits);

/// A share of 1 as "12.3%".
std::string percent(double share, int decimals = 1);

/// Parses a list of numbers such as "0-3,7": ascending, without repeats, each <= `last`.
/// Nullopt when the text is anything else.
std::optional<std::vector<int>> parse_ranges(std::string_view text, int last);

/// The inverse of parse_ranges, for messages: {0,1,2,7} -> "0-2,7". `numbers` are ascending.
std::string format_ranges(const std::vector<int>& numbers);

/// "no rank", "rank 3" or "ranks 0-2,7", for messages.
std::string describe_ranks(const std::vector<int>& ranks);

/// A time above 0: seconds, or with a unit, such as "90", "90s", "5min" or "2h". Nullopt when the text is anything else.
std::optional<Seconds> parse_duration(std::string_view text);

/// As it may be shown to people: what could control a terminal, mislead about the order of letters or is no UTF-8 is escaped, as \\x1b or
/// \\u202e. Newlines are, too, unless they are kept.
std::string printable(std::string_view text, bool keep_newlines = false);

/// The first bytes of UTF-8, at most so many, and no part of a character.
std::string_view beginning(std::string_view text, std::size_t most);

/// At most so many bytes of UTF-8, with "..." in place of what is left out of the middle.
std::string shortened(std::string_view text, std::size_t most);

/// The words of a command as one would type them.
std::string command_line(const std::vector<std::string>& words);

/// Four significant digits and a unit that fits: "12.34 ms".
std::string format_seconds(Seconds time);

/// Four significant digits and a decimal unit: "102.2 MB".
std::string format_bytes(Bytes bytes);

}  // namespace syncopate
