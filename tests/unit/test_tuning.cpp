#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "advise/tuning.hpp"

using namespace syncopate;

namespace {

struct Found {
  Tuning::Values values;
  double value = INFINITY;
  int asked = 0;
};

using TunedNumbers = std::vector<double>;

double nothing(const TunedNumbers& /*x*/) { return 0.0; }

/// `excess`: over the limits.
Found tune(const std::vector<ValueRange>& ranges, const std::function<double(const TunedNumbers&)>& value,
           const std::function<double(const TunedNumbers&)>& excess = nothing) {
  Tuning tuning(ranges);
  Found found;
  std::set<Tuning::Values> seen;
  while (!tuning.wanted().empty()) {
    std::map<Tuning::Values, Tuning::Worth> learnt;
    for (const Tuning::Values& values : tuning.wanted()) {
      CHECK(seen.insert(values).second);
      ++found.asked;
      TunedNumbers numbers;
      for (const Json& number : tuning.as_json(values)) numbers.push_back(number.get<double>());
      learnt[values] = {excess(numbers), value(numbers)};
      if (learnt[values].excess == 0.0 && learnt[values].value < found.value) found = {values, learnt[values].value, found.asked};
    }
    tuning.learn(learnt);
  }
  return found;
}

}  // namespace

TEST_SUITE("Which values of parameters are best?") {
  TEST_CASE("of one, to four digits") {
    for (const double best : {0.0011, 0.02345, 3.0, 17.28, 99.99}) {
      const Found found = tune({ValueRange("0.001", "100.0")}, [&](const auto& x) { return std::abs(std::log(x[0] / best)); });
      CHECK(found.value < 1e-3);
      CHECK(found.asked < 60);
    }
  }

  TEST_CASE("of one, at an end or anywhere among whole numbers") {
    for (int best = 1; best <= 300; best += 23) {
      const Found found = tune({ValueRange("1", "300")}, [&](const auto& x) { return std::abs(x[0] - best); });
      CHECK(found.value == 0.0);
    }
    CHECK(tune({ValueRange("1", "5")}, [](const auto& x) { return -x[0]; }).value == -5.0);
  }

  TEST_CASE("of several") {
    const Found found = tune({ValueRange("1", "1000"), ValueRange("0.01", "10.0")},
                             [](const auto& x) { return std::pow(std::log(x[0] / 70), 2) + std::pow(std::log(x[1] / 0.3), 2); });
    CHECK(found.value < 1e-6);
  }

  TEST_CASE("within limits: at one of them, or far from what is least without") {
    for (int most = 1; most <= 300; most += 13) {
      const auto over = [=](const TunedNumbers& x) { return std::max(0.0, x[0] / most - 1.0); };
      CHECK(tune(
                {ValueRange("1", "300")}, [](const TunedNumbers& x) { return -x[0]; }, over)
                .value == -most);
      CHECK(tune(
                {ValueRange("1", "300")}, [](const TunedNumbers& x) { return std::abs(x[0] - 290); }, over)
                .value == std::max(0, 290 - most));
    }
    const Found both = tune(
        {ValueRange("1", "1000"), ValueRange("1", "1000")}, [](const TunedNumbers& x) { return 1.0 / x[0] + 1.0 / x[1]; },
        [](const TunedNumbers& x) {
          return std::max({0.0, x[0] / 20 - 1.0, x[1] / 700 - 1.0});
        });
    CHECK(both.value == doctest::Approx(1.0 / 20 + 1.0 / 700));
  }

  TEST_CASE("where limits hold but between the first values that are looked at") {
    const Found found = tune(
        {ValueRange("1", "100000")}, [](const TunedNumbers& x) { return x[0]; },
        [](const TunedNumbers& x) { return std::max(0.0, std::abs(std::log(x[0] / 1500.0)) - 0.01); });
    CHECK(found.value == std::ceil(1500 * std::exp(-0.01)));
  }

  TEST_CASE("where nothing is possible it ends") {
    const Found found = tune({ValueRange("1", "50"), ValueRange("1", "50")}, nothing, [](const auto&) { return INFINITY; });
    CHECK(found.value == INFINITY);
    CHECK(found.asked <= 125);
  }
}
