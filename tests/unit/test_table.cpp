#include <doctest/doctest.h>

#include "base/table.hpp"

using namespace syncopate;

using Rows = std::vector<std::vector<std::string>>;

TEST_SUITE("Can a table be read, whatever is in it and however narrow the terminal?") {
  std::string column(std::vector<std::string> cells) {
    Rows rows = {{"time"}};
    for (std::string& cell : cells) rows.push_back({std::move(cell)});
    align_units(rows);
    std::string text;
    for (std::size_t row = 1; row < rows.size(); ++row) text += (row > 1 ? "|" : "") + rows[row].front();
    return text;
  }

  TEST_CASE("quantities of a column have one unit, in which all of them can be read") {
    CHECK(column({"1.234 s", "12.34 ms"}) == "1234 ms|12.34 ms");
    CHECK(column({"9 s", "-750 ms", "0 s"}) == "9 s|-0.75 s|0 s");
    CHECK(column({"50 us", "12.34 s"}) == "0.05 ms|12340 ms");
    CHECK(column({"*1.2 s (3 steps)", "-", "0 s", "-5 ms", ""}) == "*1200 ms (3 steps)|-|0 ms|-5 ms|");
    CHECK(column({"0 s", "0 s"}) == "0 s|0 s");
    CHECK(column({"102.2 MB", "44 kB"}) == "102.2 MB|0.044 MB");
    CHECK(column({"102.2 MB", "4 B"}) == "102.2 MB|4 B");
  }

  TEST_CASE("what is no quantity, or of several kinds, stays as it is") {
    CHECK(column({"1 s", "12 ms", "7"}) == "1 s|12 ms|7");
    CHECK(column({"1 s", "12 MB"}) == "1 s|12 MB");
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
          "not shown for\nwant of width:\nbb; all is\nthere\n");
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
