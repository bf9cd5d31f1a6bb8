#include "cluster/benchmark_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <sstream>

#include "base/errors.hpp"

namespace syncopate {

namespace {

bool is_space(char letter) { return std::isspace(static_cast<unsigned char>(letter)) != 0; }

/// Whether a rank, a host or a part of a time may have this letter.
bool is_of_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || std::string_view("._-,+@/").find(letter) != std::string_view::npos;
}

/// How many letters of the line are like the prefix: a word for a word, space or none for space, else the same. 0 if it begins otherwise.
std::size_t length_like(std::string_view prefix, std::string_view line) {
  std::size_t end = 0;
  const auto skip = [](std::string_view text, std::size_t& at, bool (*is_skipped)(char)) {
    const std::size_t begin = at;
    while (at < text.size() && is_skipped(text[at])) ++at;
    return at > begin;
  };
  for (std::size_t i = 0; i < prefix.size();) {
    if (skip(prefix, i, is_space)) {
      skip(line, end, is_space);
    } else if (skip(prefix, i, is_of_word)) {
      if (!skip(line, end, is_of_word)) return 0;
    } else {
      if (end == line.size() || line[end] != prefix[i]) return 0;
      ++end;
      ++i;
    }
  }
  return end;
}

}  // namespace

std::size_t table_head_in(std::string_view line) {
  constexpr std::array heads = {nccl_head, nccl_test_head, osu_head, osu_names, deepspeed_head, ds_bench_head};
  std::size_t first = std::string_view::npos;
  for (const std::string_view head : heads) first = std::min(first, line.find(head));
  return first;
}

void PrintedLine::fail(const std::string& why) const { throw InputError(fmt::format("{}:{}: {}", file, number, why)); }

double PrintedLine::number_at(std::size_t index, std::string_view what) const {
  try {
    std::size_t used = 0;
    const double value = std::stod(words.at(index), &used);
    if (used == words[index].size() && std::isfinite(value)) return value;
  } catch (const std::exception&) {  // missing or no number: fails below
  }
  fail(fmt::format("expected {} as word {}, got \"{}\"", what, index + 1, index < words.size() ? words[index] : ""));
}

std::vector<PrintedLine> lines_of(const std::string& file, const std::string& text, HeadIn head_in) {
  std::istringstream stream(text);
  std::vector<PrintedLine> lines;
  std::string prefix;
  for (std::string line; std::getline(stream, line);) {
    if (const std::size_t head = head_in(line); head != std::string::npos) {
      prefix = line.substr(0, head);
      // A word that touches the head is the end of some other output, on the same line.
      if (!prefix.empty() && is_of_word(prefix.back())) prefix.clear();
      line.erase(0, head);
    } else {
      line.erase(0, length_like(prefix, line));
    }
    PrintedLine next = {file, static_cast<int>(lines.size()) + 1, line};
    std::istringstream words(line);
    for (std::string word; words >> word;) next.words.push_back(word);
    lines.push_back(std::move(next));
  }
  return lines;
}

bool is_whole_number(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace syncopate
