#include <doctest/doctest.h>

#include <cmath>

#include "base/random.hpp"
#include "engine/worker/speed.hpp"

using namespace syncopate;

using Words = std::array<std::uint32_t, 4>;

TEST_SUITE("Are random numbers right and independent?") {
  // Known answers of the generator's authors (Random123, kat_vectors).
  TEST_CASE("philox4x32-10") {
    CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    CHECK(philox4x32({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
          Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
  }

  TEST_CASE("a worker's numbers depend on seed, worker, step and layer, and on nothing else") {
    const auto base = uniform_pair(1, 2, 3, 4);
    CHECK(base == uniform_pair(1, 2, 3, 4));
    CHECK(base != uniform_pair(9, 2, 3, 4));
    CHECK(base != uniform_pair(1, 9, 3, 4));
    CHECK(base != uniform_pair(1, 2, 9, 4));
    CHECK(base != uniform_pair(1, 2, 3, 9));
    CHECK(uniform_pair(1ULL << 32U, 0, 0, 0) != uniform_pair(0, 0, 0, 0));
  }

  TEST_CASE("jitter has mean 1 and the coefficient of variation that was asked for") {
    constexpr int draws = 200'000;
    for (const auto distribution : {Jitter::Distribution::lognormal, Jitter::Distribution::uniform}) {
      for (const double cv : {0.05, 0.3, 0.5}) {
        Speed speed;
        speed.jitter = {distribution, cv, {}};
        speed.seed = 7;
        double sum = 0.0;
        double squares = 0.0;
        double smallest = 1.0;
        for (int i = 0; i < draws; ++i) {
          const double factor = speed.compute_factor(i % 100, i / 100, Phase::forward, Seconds(0));
          sum += factor;
          squares += factor * factor;
          smallest = std::min(smallest, factor);
        }
        const double mean = sum / draws;
        const double deviation = std::sqrt(squares / draws - mean * mean);
        // Five standard errors of the mean; the lognormal's heavier tail makes its deviation the looser one.
        CHECK(std::abs(mean - 1.0) < 5.0 * cv / std::sqrt(draws));
        CHECK(deviation == doctest::Approx(cv).epsilon(0.02));
        CHECK(smallest > 0.0);
      }
    }
  }

  TEST_CASE("slow ranks are slow, and equal workers are known as such") {
    Speed speed;
    CHECK(speed.uniform());
    CHECK(speed.compute_factor(5, 3, Phase::forward, Seconds(0)) == 1.0);
    speed.slow = {1.0, 2.0};
    CHECK_FALSE(speed.uniform());
    CHECK(speed.slowness(1) == 2.0);
    CHECK(speed.compute_factor(1, 0, Phase::forward, Seconds(0)) == 2.0);
    speed.slow = {2.0, 2.0};
    CHECK(speed.uniform());
    speed.jitter = {Jitter::Distribution::uniform, 0.1, {}};
    CHECK_FALSE(speed.uniform());
    speed.jitter.cv = 0.0;
    CHECK(speed.uniform());
  }
}
