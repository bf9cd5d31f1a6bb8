#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>

#include "capture/engine_choice.hpp"

using namespace syncopate;
using namespace syncopate::capture;

namespace {

/// What cuDNN answers to one offer.
struct Answer {
  EngineOffer offer;
  std::optional<std::size_t> workspace = 0;  ///< nothing: the plan cannot be built
  std::optional<double> seconds = 1;         ///< nothing: it fails when it runs
};

/// cuDNN, as far as a choice asks it.
struct Backend {
  std::vector<Answer> answers;
  std::vector<std::size_t> built{};
  std::vector<std::size_t> timed{};
  std::vector<double> limits{};

  std::optional<ChosenEngine> choose(const EngineRules& rules) {
    std::vector<EngineOffer> offers;
    for (const Answer& answer : answers) offers.push_back(answer.offer);
    return fastest_engine(
        offers, rules,
        [this](std::size_t i) {
          built.push_back(i);
          return answers[i].workspace;
        },
        [this](std::size_t i, Seconds limit) {
          timed.push_back(i);
          limits.push_back(limit.value);
          return answers[i].seconds ? std::optional(Seconds(*answers[i].seconds)) : std::nullopt;
        });
  }
};

constexpr EngineRules any = {true, 1000};

}  // namespace

TEST_SUITE("Which of cuDNN's engines runs a graph?") {
  TEST_CASE("the fastest, and the first of equally fast ones") {
    Backend backend{{{{"a"}, 0, 3}, {{"b"}, 10, 2}, {{"c"}, 0, 2}}};
    const auto chosen = backend.choose(any);
    REQUIRE(chosen);
    CHECK(chosen->offer == 1);
    CHECK(chosen->workspace == 10);
    CHECK(chosen->time == Seconds(2));
    CHECK(backend.limits == std::vector<double>{std::numeric_limits<double>::infinity(), 3, 2});
  }

  TEST_CASE("none on tensor cores where these would round fp32, and none that rounds its inputs") {
    Backend backend{{{{"tensor cores", true, false}, 0, 1}, {{"rounding", true, true}, 0, 0.5}, {{"plain"}, 0, 5}}};
    CHECK(backend.choose({false, 1000})->offer == 2);
    CHECK(backend.built == std::vector<std::size_t>{2});
    CHECK(backend.choose(any)->offer == 0);
  }

  TEST_CASE("none that cannot be built, does not fit into the workspace or fails") {
    Backend backend{{{{"unsupported"}, std::nullopt, 1}, {{"large"}, 1001, 1}, {{"failing"}, 0, std::nullopt}, {{"fits"}, 1000, 9}}};
    CHECK(backend.choose(any)->offer == 3);
    CHECK(backend.timed == std::vector<std::size_t>{2, 3});
  }

  TEST_CASE("an offer that comes again, as cuDNN's fallback may, is tried once") {
    Backend backend{{{{"a"}, 0, 3}, {{"b"}, 0, 2}, {{"a"}, 0, 1}}};
    CHECK(backend.choose(any)->offer == 1);
    CHECK(backend.built == std::vector<std::size_t>{0, 1});
  }

  TEST_CASE("only the first ten that run are timed") {
    Backend backend;
    for (int i = 0; i < 13; ++i) backend.answers.push_back({{std::to_string(i)}, 0, 20.0 - i});
    backend.answers[4].seconds = std::nullopt;
    CHECK(backend.choose(any)->offer == 10);
    CHECK(backend.timed.size() == 11);
  }

  TEST_CASE("nothing where nothing runs") {
    CHECK_FALSE(Backend{}.choose(any));
    CHECK_FALSE(Backend{{{{"a"}, std::nullopt, 1}}}.choose(any));
  }
}
