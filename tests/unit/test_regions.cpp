#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "cluster/alpha_beta.hpp"
#include "cluster/ring_order.hpp"
#include "collective/ring_time.hpp"

using namespace syncopate;

namespace {

Regions random_regions(std::mt19937& random, std::size_t count, int most_nodes) {
  const auto number = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
  Regions regions;
  regions.list.reserve(count);
  for (std::size_t i = 0; i < count; ++i) regions.list.push_back({"r" + std::to_string(i), static_cast<int>(number(1, most_nodes + 1))});
  regions.wan.assign(count, std::vector<Link>(count));
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = a + 1; b < count; ++b)
      regions.wan[a][b] = regions.wan[b][a] = {Rate(number(1e7, 1e9)), Seconds(number(0.001, 0.2))};
  }
  return regions;
}

const Link inside = {Rate(1e9), Seconds(1e-4)};

Seconds time_of(const Regions& regions, const std::vector<std::size_t>& order, Bytes bytes, SecondsPerByte gamma = SecondsPerByte(0)) {
  return ring_all_reduce(ring_hops(regions, regions_of_nodes(regions, order), inside), bytes, gamma);
}

}  // namespace

TEST_SUITE("Is a ring over unequal links timed right?") {
  TEST_CASE("over equal links it is the closed form") {
    for (const int ranks : {2, 3, 4, 8, 33}) {
      const std::vector<Hop> hops(static_cast<std::size_t>(ranks), Hop{Seconds(2e-4), SecondsPerByte(3e-9)});
      const CostLine line = cost_line(ring().all_reduce, ranks, {Seconds(2e-4), SecondsPerByte(3e-9), SecondsPerByte(1e-10)});
      for (const double bytes : {0.0, 1e3, 1e8}) {
        CHECK(ring_all_reduce(hops, Bytes(bytes), SecondsPerByte(1e-10)).value == doctest::Approx(line(Bytes(bytes)).value).epsilon(1e-12));
      }
    }
  }

  TEST_CASE("one slow link: its transfers follow each other, their latencies overlap") {
    // Messages of 1 B over two links: 1 s each on the slow one, nothing on the other; the second needs the first to come round.
    const std::vector<Hop> two = {{Seconds(5), SecondsPerByte(1)}, {Seconds(0), SecondsPerByte(0)}};
    // Over the slow link: the first arrives at 6; the second may start at 1, when the first has been transferred, and arrives at 7.
    CHECK(ring_time(two, 2, Bytes(1), 0, SecondsPerByte(0)) == Seconds(7));
    CHECK(ring_time(two, 0, Bytes(1), 0, SecondsPerByte(0)) == Seconds(0));
  }

  TEST_CASE("a single rank has nothing to send") {
    CHECK(ring_all_reduce({Hop{Seconds(1), SecondsPerByte(1)}}, Bytes(100), SecondsPerByte(1)) == Seconds(0));
  }
}

TEST_SUITE("Is the order of regions the fastest?") {
  TEST_CASE("between four AWS regions the shortest cycle loses") {
    Regions regions;
    for (const char* name : {"oregon", "ohio", "tokyo", "london"}) regions.list.push_back({name, 1});
    regions.wan.assign(4, std::vector<Link>(4));
    const auto link = [&](std::size_t a, std::size_t b, double rtt, double mbps) {
      regions.wan[a][b] = regions.wan[b][a] = {Rate(mbps * 1e6 / 8), Seconds(rtt / 2)};
    };
    link(0, 1, 0.049, 1100);
    link(0, 2, 0.096, 523);
    link(0, 3, 0.136, 420);
    link(1, 2, 0.130, 694);
    link(1, 3, 0.086, 1050);
    link(2, 3, 0.210, 366);
    const std::vector<std::size_t> shortest = {0, 1, 3, 2};  // 220.5 ms one way
    const std::vector<std::size_t> fastest = {0, 2, 1, 3};   // 224 ms
    for (const double bytes : {1.0, 1e6, 1e8}) {
      CHECK(fastest_order(regions, inside, Bytes(bytes), SecondsPerByte(0)) == fastest);
      CHECK(time_of(regions, fastest, Bytes(bytes)) < time_of(regions, shortest, Bytes(bytes)));
    }
  }

  struct Size {
    Bytes bytes;
    SecondsPerByte gamma;
  };
  /// Of messages that take latency only, both, or transfer only; with and without reductions.
  const std::vector<Size> sizes = {{Bytes(1), SecondsPerByte(0)},   {Bytes(1e6), SecondsPerByte(0)},    {Bytes(1e7), SecondsPerByte(1e-9)},
                                   {Bytes(1e8), SecondsPerByte(0)}, {Bytes(1e8), SecondsPerByte(1e-8)}, {Bytes(1e11), SecondsPerByte(0)}};

  TEST_CASE("up to nine regions no order is faster") {
    std::mt19937 random(51);
    for (std::size_t trial = 0; trial < 30; ++trial) {
      const std::size_t count = 2 + trial % 5;
      const Regions regions = random_regions(random, count, 3);
      for (const auto& [amount, gamma] : sizes) {
        const Bytes bytes = amount;
        CAPTURE(bytes.value);
        const Seconds best = time_of(regions, fastest_order(regions, inside, bytes, gamma), bytes, gamma);
        std::vector<std::size_t> order(count);
        std::iota(order.begin(), order.end(), 0U);
        do {
          CHECK(best <= time_of(regions, order, bytes, gamma) * (1.0 + 1e-12));
        } while (std::next_permutation(order.begin(), order.end()));
      }
    }
  }

  TEST_CASE("beyond that every region is passed once, and no exchange of a stretch is faster") {
    std::mt19937 random(52);
    for (const std::size_t count : {10U, 14U}) {
      const Regions regions = random_regions(random, count, 2);
      for (const auto& [amount, gamma] : sizes) {
        const Bytes bytes = amount;
        CAPTURE(bytes.value);
        const std::vector<std::size_t> order = fastest_order(regions, inside, bytes, gamma);
        std::vector<std::size_t> sorted = order;
        std::sort(sorted.begin(), sorted.end());
        for (std::size_t i = 0; i < count; ++i) CHECK(sorted[i] == i);
        for (std::size_t from = 1; from < count; ++from) {
          for (std::size_t to = from + 1; to <= count; ++to) {
            std::vector<std::size_t> other = order;
            std::reverse(other.begin() + static_cast<std::ptrdiff_t>(from), other.begin() + static_cast<std::ptrdiff_t>(to));
            CHECK(time_of(regions, order, bytes, gamma) <= time_of(regions, other, bytes, gamma) * (1.0 + 1e-12));
          }
        }
      }
    }
  }
}
