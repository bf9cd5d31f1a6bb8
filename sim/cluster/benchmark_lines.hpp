#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace syncopate {

/// A line that a program printed, with its words and where it is.
struct PrintedLine {
  std::string file;
  int number = 0;
  std::string text{};
  std::vector<std::string> words{};

  bool contains(std::string_view part) const { return text.find(part) != std::string::npos; }
  /// Throws InputError that begins with the file and the line's number.
  [[noreturn]] void fail(const std::string& why) const;
  /// The word as a number. Calls `fail` if it is none.
  double number_at(std::size_t index, std::string_view what) const;
};

/// The lines that begin tables of benchmarks.
inline constexpr std::string_view nccl_head = "# nThread";
inline constexpr std::string_view nccl_test_head = "# Collective test starting:";  ///< newer versions name the program first
inline constexpr std::string_view osu_head = "# OSU ";                             ///< MPI, MPI-CUDA, NCCL-CUDA, ...
inline constexpr std::string_view osu_names = "# Size";
inline constexpr std::string_view deepspeed_head = "Comm. Op";
inline constexpr std::string_view ds_bench_head = "---- Performance of ";

/// Where the head of what is read begins in a line, or npos.
using HeadIn = std::size_t (*)(std::string_view line);

/// That of a benchmark's table.
std::size_t table_head_in(std::string_view line);

/// The lines of a text, without what launchers and containers write before them, such as "[1,0]<stdout>:", "0: ", "host: " or a time. What
/// stands before a head shows what that is; it is taken off the lines from there on that begin alike, with other ranks, hosts or times. All
/// other lines stay as they are.
std::vector<PrintedLine> lines_of(const std::string& file, const std::string& text, HeadIn head_in = table_head_in);

bool is_whole_number(std::string_view word);

}  // namespace syncopate
