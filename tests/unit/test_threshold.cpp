#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "advise/threshold.hpp"
#include "base/errors.hpp"

using namespace syncopate;

namespace {

/// Looks for it among values of which it holds beyond `limit`, or below.
ThresholdSearch search(const ValueRange& range, double limit, bool beyond, int& asked) {
  ThresholdSearch search(range);
  while (!search.wanted().empty()) {
    std::map<std::int64_t, bool> answers;
    for (const std::int64_t step : search.wanted()) answers[step] = (range.value(step).get<double>() >= limit) == beyond;
    asked += static_cast<int>(answers.size());
    search.learn(answers);
  }
  return search;
}

}  // namespace

TEST_SUITE("From which value on does a condition hold?") {
  TEST_CASE("values are whole numbers, or have four digits and the unit") {
    const ValueRange whole("3", "20");
    CHECK(whole.value(whole.first()) == Json(3));
    CHECK(whole.value(whole.last()) == Json(20));
    CHECK(whole.samples(17).size() > 8);
    const ValueRange rates("1Gbps", "40.005Gbps");
    CHECK(rates.value(rates.first()) == Json("1Gbps"));
    CHECK(rates.value(rates.first() + 1) == Json("1.001Gbps"));
    CHECK(rates.value(rates.first() + 9000) == Json("10Gbps"));
    CHECK(rates.value(rates.last()) == Json("40Gbps"));
    const ValueRange small("0.00012345", "0.5");
    CHECK(small.value(small.first()) == Json(0.0001235));
    CHECK(small.value(small.last()) == Json(0.5));
    CHECK(ValueRange("120000ms", "9999999ms").value(ValueRange("120000ms", "9999999ms").last()) == Json("9999000ms"));
    for (std::int64_t step = small.first(); step < small.last(); ++step) {
      REQUIRE(small.value(step).get<double>() < small.value(step + 1).get<double>());
    }
    CHECK_THROWS_AS(ValueRange("-1", "2"), UsageError);
  }

  TEST_CASE("the last value on the side where it holds, in few questions") {
    std::mt19937 random(1);
    for (int i = 0; i < 200; ++i) {
      const ValueRange range = i % 2 == 0 ? ValueRange("0.001", "5000.0") : ValueRange("1", "100000");
      const double limit = std::pow(10.0, std::uniform_real_distribution<double>(0.5, 3.0)(random));
      int asked = 0;
      const ThresholdSearch found = search(range, limit, i % 4 < 2, asked);
      REQUIRE(found.result() == (i % 4 < 2 ? ThresholdSearch::Result::from : ThresholdSearch::Result::until));
      const std::int64_t here = found.threshold();
      const std::int64_t there = i % 4 < 2 ? here - 1 : here + 1;
      CHECK((range.value(here).get<double>() >= limit) == (i % 4 < 2));
      CHECK((range.value(there).get<double>() >= limit) != (i % 4 < 2));
      CHECK(asked < 17 + 18);
    }
  }

  TEST_CASE("everywhere, nowhere, here and there") {
    const ValueRange range("1", "100");
    int asked = 0;
    CHECK(search(range, 0.5, true, asked).result() == ThresholdSearch::Result::everywhere);
    CHECK(search(range, 0.5, false, asked).result() == ThresholdSearch::Result::nowhere);
    ThresholdSearch found(range);
    std::map<std::int64_t, bool> answers;
    for (const std::int64_t step : found.wanted()) answers[step] = step % 2 == 0;
    found.learn(answers);
    CHECK(found.result() == ThresholdSearch::Result::several);
    CHECK(found.wanted().empty());
  }
}
