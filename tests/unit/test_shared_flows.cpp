#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include "engine/network/shared_flows.hpp"
#include "engine/worker/speed.hpp"

using namespace syncopate;

namespace {

struct Flow {
  double start;
  double bytes;
};

/// When each flow ends if all that move share `capacity`, at most `fastest` each: every flow's rest is worked off step by step.
std::vector<double> share_step_by_step(const std::vector<Flow>& flows, double capacity, double fastest) {
  std::vector<double> rest;
  rest.reserve(flows.size());
  std::vector<double> end(flows.size(), -1.0);
  for (const Flow& flow : flows) rest.push_back(flow.bytes);
  for (double now = 0.0;;) {
    std::vector<std::size_t> moving;
    moving.reserve(flows.size());
    double next_start = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < flows.size(); ++i) {
      if (end[i] >= 0.0) continue;
      if (flows[i].start <= now) {
        moving.push_back(i);
      } else {
        next_start = std::min(next_start, flows[i].start);
      }
    }
    if (moving.empty()) {
      if (next_start == std::numeric_limits<double>::infinity()) return end;
      now = next_start;
      continue;
    }
    const double rate = std::min(fastest, capacity / static_cast<double>(moving.size()));
    std::size_t first = moving.front();
    for (const std::size_t i : moving) first = rest[i] < rest[first] ? i : first;
    const double next = std::min(next_start, now + rest[first] / rate);
    for (const std::size_t i : moving) rest[i] -= rate * (next - now);
    if (next < next_start || rest[first] <= 0.0) end[first] = next;
    now = next;
  }
}

/// The same with virtual time.
std::vector<double> share(const std::vector<Flow>& flows, double capacity, double fastest) {
  std::vector<std::size_t> order(flows.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return flows[a].start < flows[b].start; });
  SharedFlows shared;
  std::vector<double> end(flows.size());
  const auto set_rate = [&] {
    if (!shared.empty()) shared.set_rate(Rate(std::min(fastest, capacity / static_cast<double>(shared.size()))));
  };
  const auto end_until = [&](double time) {
    while (!shared.empty() && shared.next_end().value <= time) {
      const Seconds now = shared.next_end();
      shared.advance_to(now);
      std::vector<int> ended;
      shared.pop_ended(now, ended);
      for (const int flow : ended) end[static_cast<std::size_t>(flow)] = now.value;
      set_rate();
    }
  };
  for (const std::size_t i : order) {
    end_until(flows[i].start);
    shared.advance_to(Seconds(flows[i].start));
    shared.add(Bytes(flows[i].bytes), static_cast<int>(i));
    set_rate();
  }
  end_until(std::numeric_limits<double>::infinity());
  return end;
}

}  // namespace

TEST_SUITE("Do flows share a link fairly?") {
  TEST_CASE("two flows by hand") {
    // 10 B/s: alone for 1 s, then 5 B/s each until the second has moved its 10 bytes after 2 s, then alone again.
    const std::vector<double> end = share({{0.0, 30.0}, {1.0, 10.0}}, 10.0, 10.0);
    CHECK(end[1] == doctest::Approx(3.0));
    CHECK(end[0] == doctest::Approx(4.0));
  }

  TEST_CASE("a flow is never faster than its own link") {
    const std::vector<double> end = share({{0.0, 30.0}, {0.0, 60.0}}, 100.0, 3.0);
    CHECK(end[0] == doctest::Approx(10.0));
    CHECK(end[1] == doctest::Approx(20.0));
  }

  TEST_CASE("random flows end when working off every rest step by step says") {
    std::mt19937 random(41);
    const auto number = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
    for (int round = 0; round < 100; ++round) {
      CAPTURE(round);
      std::vector<Flow> flows(static_cast<std::size_t>(number(1, 60)));
      for (Flow& flow : flows) flow = {number(0.0, 10.0), number(0.1, 50.0)};
      const double capacity = number(5.0, 50.0);
      const double fastest = number(1.0, 60.0);
      const std::vector<double> fast = share(flows, capacity, fastest);
      const std::vector<double> slow = share_step_by_step(flows, capacity, fastest);
      for (std::size_t i = 0; i < flows.size(); ++i) CHECK(fast[i] == doctest::Approx(slow[i]).epsilon(1e-9));
    }
  }

  TEST_CASE("equal flows end together, in the order of their numbers") {
    SharedFlows shared;
    shared.advance_to(Seconds(1));
    for (const int id : {3, 1, 2}) shared.add(Bytes(7), id);
    shared.set_rate(Rate(3));
    std::vector<int> ended;
    shared.advance_to(shared.next_end());
    shared.pop_ended(shared.next_end(), ended);
    CHECK(ended == std::vector<int>{1, 2, 3});
    CHECK(shared.empty());
  }
}

TEST_SUITE("Does compute stand still in pauses?") {
  TEST_CASE("one row per position of compute and pause") {
    Speed speed;
    speed.pauses = {
        {0, Seconds(20), Seconds(25)}, {0, Seconds(10), Seconds(12)}, {1, Seconds(0), Seconds(100)}, {0, Seconds(11), Seconds(15)}};
    const std::vector<Pause> pauses = speed.pauses_of(0, 1);
    REQUIRE(pauses.size() == 2);  // 10 to 15 and 20 to 25
    CHECK_FALSE(speed.uniform());
    const auto end = [&](double start, double length) { return end_of_compute(Seconds(start), Seconds(length), pauses).value; };
    CHECK(end(0, 5) == 5.0);
    CHECK(end(5, 5) == 10.0);   // ends just when the pause begins
    CHECK(end(5, 6) == 16.0);   // 5 s before it, 1 s after
    CHECK(end(10, 1) == 16.0);  // begins in the pause
    CHECK(end(12, 1) == 16.0);
    CHECK(end(15, 5) == 20.0);
    CHECK(end(5, 11) == 26.0);  // through both
    CHECK(end(12, 0) == 12.0);  // nothing to do
    CHECK(end(30, 1) == 31.0);
    CHECK(end_of_pause(Seconds(12), pauses) == Seconds(15));
    CHECK(end_of_pause(Seconds(15), pauses) == Seconds(15));
  }
}
