#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "base/table.hpp"

using namespace syncopate;

using Rows = std::vector<std::vector<std::string>>;

TEST_SUITE("Can a table be read, whatever is in it and however narrow the terminal?") {
  /// The cells of one column, as the table shows them.
  std::string column(const Cells& cells) {
    std::vector<Cells> rows = {{"time"}};
    for (const Cell& cell : cells) rows.push_back({cell});
    std::string text;
    std::istringstream lines(format_table(rows, {.width = std::nullopt}));
    std::string line;
    for (int i = 0; std::getline(lines, line); ++i) {
      if (i >= 2) text += (i > 2 ? "|" : "") + line.substr(std::min(line.size(), line.find_first_not_of(' ')));
    }
    return text;
  }

  TEST_CASE("values of a column have one unit, in which all of them can be read") {
    CHECK(column({Seconds(1.234), Seconds(0.01234)}) == "1234 ms|12.34 ms");
    CHECK(column({Seconds(9), Seconds(-0.75), Seconds(0)}) == "9 s|-0.75 s|0 s");
    CHECK(column({Seconds(50e-6), Seconds(12.34)}) == "0.05 ms|12340 ms");
    CHECK(column({Cell(Seconds(1.2)).between("*", " (3 steps)"), "-", Seconds(0), Seconds(-5e-3), "x"}) ==
          "*1200 ms (3 steps)|-|0 ms|-5 ms|x");
    CHECK(column({Seconds(0), Seconds(0)}) == "0 s|0 s");
    CHECK(column({Bytes(102.2e6), Bytes(44e3)}) == "102.2 MB|0.044 MB");
    CHECK(column({Bytes(102.2e6), Bytes(4)}) == "102.2 MB|4 B");
  }

  TEST_CASE("texts, and values beside other numbers, stay as they are") {
    CHECK(column({Seconds(1), Seconds(12e-3), "7"}) == "1 s|12 ms|7");
    CHECK(column({Seconds(1), Bytes(12e6)}) == "1 s|12 MB");
    CHECK(column({"10 Gb/s, 50 us", "1 Gb/s, 2 ms"}) == "10 Gb/s, 50 us|1 Gb/s, 2 ms");
    CHECK(column({"a", "b"}) == "a|b");
  }

  const Rows rows = {{"k", "same", "a", "bb", "ccc"}, {"1", "x", "10", "200", "3"}, {"2", "x", "11", "201", "4"}};

  TEST_CASE("without a terminal it is as wide as it is") {
    CHECK(format_table(rows, {.width = std::nullopt}) ==
          "k  same   a   bb  ccc\n"
          "---------------------\n"
          "1  x     10  200    3\n"
          "2  x     11  201    4\n");
    CHECK(format_table(rows, {.width = 21}) == format_table(rows, {.width = std::nullopt}));
  }

  TEST_CASE("first columns go that are the same in all rows, then those that are least important, then the last") {
    CHECK(format_table(rows, {.width = 20}) ==
          "same: x\n"
          "k   a   bb  ccc\n"
          "---------------\n"
          "1  10  200    3\n"
          "2  11  201    4\n");
    CHECK(format_table(rows, {.width = 14, .expendable = {"bb", "a"}, .elsewhere = "all is there"}) ==
          "same: x\n"
          "k   a  ccc\n"
          "----------\n"
          "1  10    3\n"
          "2  11    4\n"
          "not shown in\nthis width:\nbb; all is\nthere\n");
    CHECK(format_table(rows, {.width = 10, .elsewhere = "x"}).find("k   a   bb\n") != std::string::npos);
  }

  TEST_CASE("long texts go on in the lines below") {
    const Rows prose = {{"name", "meaning", "n"}, {"one", "a text that is far too long for such a line", "7"}, {"two", "short", "8"}};
    CHECK(format_table(prose, {.width = 30}) ==
          "name  meaning                n\n"
          "------------------------------\n"
          "one   a text that is far     7\n"
          "      too long for such a\n"
          "      line\n"
          "two   short                  8\n");
  }
}
