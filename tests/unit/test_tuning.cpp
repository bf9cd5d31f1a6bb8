#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "study/tuning.hpp"

using namespace syncopate;

namespace {

struct Found {
  Tuning::Values values;
  double value = INFINITY;
  int asked = 0;
};

Found tune(const std::vector<ValueRange>& ranges, const std::function<double(const std::vector<double>&)>& value) {
  Tuning tuning(ranges);
  Found found;
  std::set<Tuning::Values> seen;
  while (!tuning.wanted().empty()) {
    std::map<Tuning::Values, double> learnt;
    for (const Tuning::Values& values : tuning.wanted()) {
      CHECK(seen.insert(values).second);
      ++found.asked;
      std::vector<double> numbers;
      for (const Json& number : tuning.as_json(values)) numbers.push_back(number.get<double>());
      learnt[values] = value(numbers);
      if (learnt[values] < found.value) found = {values, learnt[values], found.asked};
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

  TEST_CASE("where nothing is possible it ends") {
    const Found found = tune({ValueRange("1", "50"), ValueRange("1", "50")}, [](const auto&) { return INFINITY; });
    CHECK(found.value == INFINITY);
    CHECK(found.asked <= 125);
  }
}
