#include <doctest/doctest.h>

#include "base/table.hpp"
#include "base/text.hpp"

using namespace syncopate;

TEST_SUITE("Are misspelt words and rank lists understood, and numbers readable?") {
  TEST_CASE("the nearest name is a likely misspelling, not just any name") {
    const std::vector<std::string> names = {"wfbp", "mg-wfbp", "s-sgd", "sync-easgd"};
    CHECK(nearest("wbfp", names) == "wfbp");
    CHECK(nearest("mgwfbp", names) == "mg-wfbp");
    CHECK(nearest("synceasgd", names) == "sync-easgd");
    CHECK_FALSE(nearest("something-else", names));
    CHECK_FALSE(nearest("xy", names));
    CHECK(did_you_mean("wbfp", names) == "; did you mean \"wfbp\"?");
    CHECK(did_you_mean("something-else", names).empty());
  }

  TEST_CASE("numbers in sentences have no exponent where they can be read without") {
    CHECK(rounded(7.25, 2) == "7.2");
    CHECK(rounded(7.0, 2) == "7");
    CHECK(rounded(9.96, 2) == "10");
    CHECK(rounded(128.4, 2) == "128");
    CHECK(rounded(12345.6, 3) == "12346");
    CHECK(rounded(0.000123456, 3) == "0.000123");
    CHECK(rounded(-0.0512, 2) == "-0.051");
    CHECK(rounded(100.0, 2) == "100");
    CHECK(rounded(0.0, 2) == "0");
    CHECK(rounded(1.25e-7, 2) == "1.2e-07");
    CHECK(format_seconds(Seconds(12345.6)) == "12346 s");
    CHECK(format_seconds(Seconds(0.0123456)) == "12.35 ms");
    CHECK(percent(0.1234) == "12.3%");
    CHECK(percent(1.0, 0) == "100%");
  }

  TEST_CASE("durations") {
    CHECK(parse_duration("90") == Seconds(90));
    CHECK(parse_duration("1.5s") == Seconds(1.5));
    CHECK(parse_duration("5min") == Seconds(300));
    CHECK(parse_duration("2h") == Seconds(7200));
    for (const char* bad : {"", "s", "0", "-1s", "5m", "5 min", "inf", "nan", "1e999", "1sh"}) {
      CAPTURE(bad);
      CHECK_FALSE(parse_duration(bad));
    }
  }

  TEST_CASE("ranges") {
    CHECK(parse_ranges("0-3,7", 7) == std::vector{0, 1, 2, 3, 7});
    CHECK(parse_ranges("5", 7) == std::vector{5});
    for (const char* bad : {"", ",", "1,", "3-1", "0-8", "8", "2,1", "1,1", "a", "-1", "1-", "1.5", " 1", "99999999999"}) {
      CAPTURE(bad);
      CHECK_FALSE(parse_ranges(bad, 7));
    }
    CHECK(format_ranges({0, 1, 2, 3, 7, 9, 10}) == "0-3,7,9-10");
    CHECK(format_ranges({}).empty());
    CHECK(describe_ranks({}) == "no rank");
    CHECK(describe_ranks({4}) == "rank 4");
    CHECK(describe_ranks({0, 1, 3}) == "ranks 0-1,3");
  }
}
