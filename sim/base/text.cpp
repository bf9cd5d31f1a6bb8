#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>

namespace syncopate {

namespace {

/// Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::optional<int> parse_number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

struct Character {
  char32_t code;
  std::size_t bytes;  ///< 0: not UTF-8
};

/// The first character of a text that is not empty.
Character first_character(std::string_view text) {
  struct Form {
    unsigned char mask, lead;
    char32_t least;
  };
  constexpr std::array forms = {Form{0x80, 0x00, 0}, Form{0xE0, 0xC0, 0x80}, Form{0xF0, 0xE0, 0x800}, Form{0xF8, 0xF0, 0x10000}};
  const auto lead = static_cast<unsigned char>(text.front());
  for (std::size_t bytes = 1; bytes <= forms.size(); ++bytes) {
    const Form& form = forms[bytes - 1];  // NOLINT(cppcoreguidelines-pro-bounds-constant-array-index)
    if ((lead & form.mask) != form.lead) continue;
    if (text.size() < bytes || !std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(bytes), continues_character))
      break;
    char32_t code = lead & static_cast<unsigned char>(~form.mask);
    for (std::size_t i = 1; i < bytes; ++i) code = (code << 6U) | (static_cast<unsigned char>(text[i]) & 0x3FU);
    constexpr char32_t last = 0x10FFFF;
    const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
    return {code, code >= form.least && code <= last && !is_surrogate ? bytes : 0};
  }
  return {0, 0};
}

/// Control characters, marks that change the direction of text, line separators.
bool is_unprintable(char32_t code) {
  struct Block {
    char32_t first, last;
  };
  constexpr std::array ranges = {Block{0x00, 0x1F},     Block{0x7F, 0x9F},     Block{0x61C, 0x61C},
                                 Block{0x200E, 0x200F}, Block{0x2028, 0x202E}, Block{0x2066, 0x2069}};
  return std::any_of(ranges.begin(), ranges.end(), [code](const Block& range) { return code >= range.first && code <= range.last; });
}

/// The value in the largest unit in which it is at least 1. `units` ascend in steps of 1000.
std::string with_unit(double value, std::span<const char* const> units) {
  constexpr double step = 1e3;
  constexpr double rounds_to_step = 0.99995 * step;  // as four digits
  std::size_t unit = 0;
  while (unit + 1 < units.size() && std::abs(value) >= rounds_to_step) {
    value /= step;
    ++unit;
  }
  return fmt::format("{} {}", rounded(value, 4), units[unit]);
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  constexpr std::size_t longest = 1000;  // no name is longer
  if (word.size() > longest) return std::nullopt;
  for (const std::string& candidate : candidates) {
    const std::size_t difference = std::max(word.size(), candidate.size()) - std::min(word.size(), candidate.size());
    if (difference >= best_distance) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance < std::max(word.size(), candidate.size())) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::vector<std::string> split_at_commas(const std::string& list) {
  std::vector<std::string> items;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    items.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

std::optional<double> to_number(const std::string& text) {
  try {
    std::size_t read = 0;
    const double number = std::stod(text, &read);
    return read == text.size() ? std::optional(number) : std::nullopt;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::optional<std::string> best = nearest(word, candidates);
  return best ? fmt::format("; did you mean \"{}\"?", *best) : std::string();
}

std::string rounded(double value, int digits) {
  constexpr double least = 1e-4;
  constexpr double most = 1e15;
  const double size = std::abs(value);
  if (size < least || size >= most) return fmt::format("{:.{}g}", value, digits);
  const std::string scientific = fmt::format("{:.{}e}", value, digits - 1);
  const int exponent = std::stoi(scientific.substr(scientific.find('e') + 1));
  std::string text = fmt::format("{:.{}f}", value, std::max(0, digits - 1 - exponent));
  if (text.find('.') != std::string::npos) text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string percent(double share, int decimals) { return fmt::format("{:.{}f}%", 100.0 * share, decimals); }

std::optional<std::vector<int>> parse_ranges(std::string_view text, int last) {
  std::vector<int> numbers;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    const std::size_t dash = item.find('-');
    const std::optional<int> from = parse_number(item.substr(0, dash));
    const std::optional<int> to = dash == std::string_view::npos ? from : parse_number(item.substr(dash + 1));
    if (!from || !to || *from > *to || *to > last || (!numbers.empty() && *from <= numbers.back())) return std::nullopt;
    for (int number = *from; number <= *to; ++number) numbers.push_back(number);
    if (comma == std::string_view::npos) return numbers;
    text.remove_prefix(comma + 1);
  }
}

std::string format_ranges(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t j = i;
    while (j + 1 < numbers.size() && numbers[j + 1] == numbers[j] + 1) ++j;
    if (!text.empty()) text += ',';
    text += i == j ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[j]);
    i = j + 1;
  }
  return text;
}

std::string describe_ranks(const std::vector<int>& ranks) {
  return ranks.empty() ? "no rank" : fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", format_ranges(ranks));
}

std::optional<Seconds> parse_duration(std::string_view text) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  constexpr std::array units = {Unit{"", 1.0}, Unit{"s", 1.0}, Unit{"min", 60.0}, Unit{"h", 3600.0}};
  double number = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const auto* const unit = std::find_if(units.begin(), units.end(), [=](const Unit& row) { return row.name == rest; });
  if (error != std::errc() || unit == units.end() || !(number > 0.0) || !std::isfinite(number)) return std::nullopt;
  return Seconds(number * unit->seconds);
}

std::string printable(std::string_view text, bool keep_newlines) {
  std::string shown;
  shown.reserve(text.size());
  for (; !text.empty();) {
    const auto [code, bytes] = first_character(text);
    if (bytes == 0 || (code < 0x80 && is_unprintable(code) && code != '\n')) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    } else if (code == '\n') {
      shown += keep_newlines ? "\n" : "\\n";
    } else if (is_unprintable(code)) {
      shown += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(code));
    } else {
      shown += text.substr(0, bytes);
    }
    text.remove_prefix(std::max<std::size_t>(1, bytes));
  }
  return shown;
}

std::string_view beginning(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && continues_character(text[most])) --most;
  return text.substr(0, most);
}

std::string shortened(std::string_view text, std::size_t most) {
  constexpr std::string_view gap = "...";
  if (text.size() <= most) return std::string(text);
  const std::size_t kept = most - std::min(most, gap.size());
  std::size_t tail = text.size() - kept / 3;
  while (tail < text.size() && continues_character(text[tail])) ++tail;
  return fmt::format("{}{}{}", beginning(text, kept - kept / 3), gap, text.substr(tail));
}

std::string command_line(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@%";
    const bool needs_quotes = word.empty() || word.find_first_not_of(plain) != std::string::npos;
    std::string quoted;
    for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += (text.empty() ? "" : " ") + (needs_quotes ? fmt::format("'{}'", quoted) : word);
  }
  return text;
}

std::string format_seconds(Seconds time) {
  constexpr std::array units = {"ns", "us", "ms", "s"};
  return time == Seconds(0) ? "0 s" : with_unit(time.value * 1e9, units);
}

std::string format_bytes(Bytes bytes) {
  constexpr std::array units = {"B", "kB", "MB", "GB", "TB"};
  return with_unit(bytes.value, units);
}

}  // namespace syncopate
