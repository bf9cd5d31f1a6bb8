#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/errors.hpp"
#include "output/figures.hpp"
#include "run/point_result.hpp"

using namespace syncopate;

namespace {

/// Numbers of all kinds: their bits are drawn.
double draw(std::mt19937_64& random) {
  constexpr std::array special = {0.0, -0.0, 0.1, 0.5F + 0.0, 5e-324, std::numeric_limits<double>::max()};
  if (random() % 4 == 0) return special.at(random() % special.size());
  const auto number = std::bit_cast<double>(random());
  return std::isfinite(number) ? number : 1.0 / 3.0;
}

/// Fills every member of a struct of doubles, also one that no row of the table names.
template <class Doubles>
void fill(Doubles& doubles, std::mt19937_64& random) {
  std::array<double, sizeof(Doubles) / sizeof(double)> numbers{};
  static_assert(sizeof(numbers) == sizeof(Doubles));
  for (double& number : numbers) number = draw(random);
  doubles = std::bit_cast<Doubles>(numbers);
}

template <class Doubles>
bool has_same_bits(const Doubles& a, const Doubles& b) {
  using Bits = std::array<std::uint64_t, sizeof(Doubles) / sizeof(std::uint64_t)>;
  return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
}

std::optional<double> draw_optional(std::mt19937_64& random) { return random() % 2 == 0 ? std::optional(draw(random)) : std::nullopt; }

std::optional<Seconds> draw_seconds(std::mt19937_64& random) {
  const auto number = draw_optional(random);
  return number ? std::optional(Seconds(*number)) : std::nullopt;
}

std::optional<Bytes> draw_bytes(std::mt19937_64& random) {
  const auto number = draw_optional(random);
  return number ? std::optional(Bytes(*number)) : std::nullopt;
}

Goodput draw_goodput(std::mt19937_64& random) {
  Goodput goodput;
  static_assert(sizeof(Goodput) == 9 * sizeof(double) + 3 * sizeof(std::optional<double>), "a new member needs a line here");
  goodput.total = Seconds(draw(random));
  for (const auto member : {&Goodput::samples_per_s, &Goodput::effective_time_ratio, &Goodput::checkpoint_share, &Goodput::lost_share,
                            &Goodput::detection_share, &Goodput::restart_share, &Goodput::degraded_share, &Goodput::failures}) {
    goodput.*member = draw(random);
  }
  goodput.checkpoint_every = draw_seconds(random);
  goodput.total_half = draw_seconds(random);
  goodput.ratio_half = draw_optional(random);
  return goodput;
}

PointResult draw_result(std::mt19937_64& random) {
  PointResult result;
  fill(result.metrics, random);
  result.network_bytes = draw_bytes(random);
  result.busiest_link_bytes = draw_bytes(random);
  result.fidelity = std::array{Fidelity::alpha_beta, Fidelity::per_message, Fidelity::flow}.at(random() % 3);
  result.workers_simulated = static_cast<int>(random() % 5000);
  result.measured_iterations = static_cast<int>(random() % 5000);
  result.iteration_half = draw_optional(random);
  if (random() % 2 == 0) result.goodput = draw_goodput(random);
  for (std::uint64_t i = random() % 4; i > 0; --i) result.replicates.emplace_back(draw(random));
  for (std::uint64_t i = random() % 4; i > 0; --i) fill(result.jobs.emplace_back(), random);
  result.details = {{"list", {1, 2.5, "text"}}};
  result.timeline = std::string("bytes \0 of a file", random() % 18);
  result.dataflow = std::string(random() % 3, '\xff');
  result.is_kept = random() % 2 == 0;
  return result;
}

void require_same(const PointResult& a, const PointResult& b) {
  REQUIRE(has_same_bits(a.metrics, b.metrics));
  REQUIRE(a.jobs.size() == b.jobs.size());
  for (std::size_t job = 0; job < a.jobs.size(); ++job) REQUIRE(has_same_bits(a.jobs[job], b.jobs[job]));
  REQUIRE(a.goodput.has_value() == b.goodput.has_value());
  if (a.goodput) {
    REQUIRE(std::bit_cast<std::uint64_t>(a.goodput->total.value) == std::bit_cast<std::uint64_t>(b.goodput->total.value));
    REQUIRE(a.goodput->degraded_share == b.goodput->degraded_share);
    REQUIRE(a.goodput->checkpoint_every == b.goodput->checkpoint_every);
    REQUIRE(a.goodput->total_half == b.goodput->total_half);
    REQUIRE(a.goodput->ratio_half == b.goodput->ratio_half);
  }
  REQUIRE(a.network_bytes == b.network_bytes);
  REQUIRE(a.busiest_link_bytes == b.busiest_link_bytes);
  REQUIRE(a.iteration_half == b.iteration_half);
  REQUIRE(a.fidelity == b.fidelity);
  REQUIRE(a.workers_simulated == b.workers_simulated);
  REQUIRE(a.measured_iterations == b.measured_iterations);
  REQUIRE(a.replicates == b.replicates);
  REQUIRE(a.to_json().dump() == b.to_json().dump());
}

}  // namespace

TEST_SUITE("One table of figures") {
  TEST_CASE("every figure keeps its bits through the pipe and through a file") {
    std::mt19937_64 random(1);
    for (int i = 0; i < 500; ++i) {
      const PointResult result = draw_result(random);
      const PointResult unpacked = PointResult::unpack(result.pack());
      require_same(result, unpacked);
      REQUIRE(result.timeline == unpacked.timeline);
      REQUIRE(result.dataflow == unpacked.dataflow);
      REQUIRE(result.is_kept == unpacked.is_kept);
      require_same(result, PointResult::from_json(Json::parse(result.to_json().dump())));
    }
  }

  TEST_CASE("a packed result that is cut, or longer than it says, is refused") {
    std::mt19937_64 random(2);
    const std::string bytes = draw_result(random).pack();
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      REQUIRE_THROWS_AS(PointResult::unpack(bytes.substr(0, length)), SimulationError);
    }
    CHECK_THROWS_AS(PointResult::unpack(bytes + "x"), SimulationError);
  }

  TEST_CASE("replicates together: means, largest ones, and speeds by the mean iteration") {
    std::vector<PointFigures> replicates(2);
    const auto set = [](Metrics& metrics, Seconds iteration, Seconds compute, double throughput, double mean, double max) {
      metrics.iteration = iteration;
      metrics.compute = compute;
      metrics.throughput = throughput;
      metrics.staleness_mean = mean;
      metrics.staleness_max = max;
    };
    set(replicates[0].metrics, Seconds(1), Seconds(0.5), 60, 2, 3);
    set(replicates[1].metrics, Seconds(3), Seconds(1), 20, 4, 9);
    replicates[0].network_bytes = Bytes(8);
    replicates[0].goodput.emplace().failures = 2;
    replicates[1].goodput.emplace();
    replicates[1].goodput->failures = 3;
    replicates[0].workers_simulated = 4;
    const PointFigures mean = mean_of(replicates);
    CHECK(mean.metrics.iteration == Seconds(2));
    CHECK(mean.metrics.compute == Seconds(0.75));
    CHECK(mean.metrics.throughput == 30);  // samples over the mean iteration, not the mean of 60 and 20
    CHECK(mean.metrics.staleness_mean == 3);
    CHECK(mean.metrics.staleness_max == 9);
    CHECK(!mean.network_bytes);  // the second replicate has none
    CHECK(mean.goodput->failures == 2.5);
    CHECK(mean.workers_simulated == 4);
  }

  TEST_CASE("a figure that is no finite number is named") {
    PointFigures result;
    result.goodput.emplace().samples_per_s = std::numeric_limits<double>::infinity();
    CHECK_THROWS_WITH_AS(require_finite(result), doctest::Contains("goodput comes out as inf"), SimulationError);
  }
}
