#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "engine/network/fair_rates.hpp"

using namespace syncopate;

namespace {

/// Rates kept up to date, beside what they follow from.
class Trial {
 public:
  explicit Trial(std::size_t links) : bandwidths_(links) {
    for (std::size_t link = 0; link < links; ++link) set_bandwidth(link, 1.0);
  }

  void set_bandwidth(std::size_t link, double bandwidth) {
    bandwidths_[link] = bandwidth;
    rates.set_bandwidth(link, Rate(bandwidth));
  }

  void add(std::size_t flow, std::vector<std::size_t> links, double limit = std::numeric_limits<double>::infinity(), int weight = 1) {
    if (flow >= flows_.size()) flows_.resize(flow + 1);
    flows_[flow] = {std::move(links), limit, weight, true};
    rates.add(flow, flows_[flow].links, Rate(limit), weight);
  }

  void set_limit(std::size_t flow, double limit) {
    flows_[flow].limit = limit;
    rates.set_limit(flow, Rate(limit));
  }

  void remove(std::size_t flow) {
    flows_[flow].moves = false;
    rates.remove(flow);
  }

  bool moves(std::size_t flow) const { return flow < flows_.size() && flows_[flow].moves; }

  /// Max-min fair by definition: no link carries more than it can, and every flow has its limit or crosses a full link on which no flow is
  /// faster, by weight (D. Bertsekas and R. Gallager, "Data Networks", section 6.5.2).
  bool is_fair() const {
    std::vector<double> load(bandwidths_.size());
    std::vector<double> fastest(bandwidths_.size());
    for (std::size_t flow = 0; flow < flows_.size(); ++flow) {
      if (!flows_[flow].moves) continue;
      for (const std::size_t link : flows_[flow].links) {
        load[link] += rate(flow);
        fastest[link] = std::max(fastest[link], rate(flow) / flows_[flow].weight);
      }
    }
    constexpr double tiny = 1e-9;
    for (std::size_t link = 0; link < load.size(); ++link) {
      if (load[link] > bandwidths_[link] * (1.0 + tiny)) return false;
    }
    const auto is_held_back = [&](std::size_t flow) {
      return std::any_of(flows_[flow].links.begin(), flows_[flow].links.end(), [&](std::size_t link) {
        return load[link] > bandwidths_[link] * (1.0 - tiny) && rate(flow) / flows_[flow].weight > fastest[link] * (1.0 - tiny);
      });
    };
    for (std::size_t flow = 0; flow < flows_.size(); ++flow) {
      if (!flows_[flow].moves) continue;
      if (rate(flow) > flows_[flow].limit * (1.0 + tiny)) return false;
      if (rate(flow) < flows_[flow].limit * (1.0 - tiny) && !is_held_back(flow)) return false;
    }
    return true;
  }

  double rate(std::size_t flow) const { return rates.rate(flow).value; }

  FairRates rates;

 private:
  struct Flow {
    std::vector<std::size_t> links;
    double limit = 0.0;
    int weight = 1;
    bool moves = false;
  };
  std::vector<double> bandwidths_;
  std::vector<Flow> flows_ = std::vector<Flow>(64);  // where they stay
};

}  // namespace

TEST_SUITE("How do flows share links?") {
  TEST_CASE("a long flow and one on each of its links, as in the textbook") {
    Trial trial(2);
    trial.set_bandwidth(1, 2.0);
    trial.add(0, {0, 1});
    trial.add(1, {0});
    trial.add(2, {1});
    trial.rates.update();
    CHECK(trial.rate(0) == doctest::Approx(0.5));
    CHECK(trial.rate(1) == doctest::Approx(0.5));
    CHECK(trial.rate(2) == doctest::Approx(1.5));
  }

  TEST_CASE("a flow with a limit leaves the rest to others") {
    Trial trial(1);
    trial.add(0, {0}, 0.2);
    trial.add(1, {0});
    trial.add(2, {0}, 0.9);
    trial.rates.update();
    CHECK(trial.rate(0) == doctest::Approx(0.2));
    CHECK(trial.rate(1) == doctest::Approx(0.4));
    CHECK(trial.rate(2) == doctest::Approx(0.4));
  }

  TEST_CASE("a flow of weight 4 gets what four flows would") {
    Trial trial(2);
    trial.add(0, {0}, 10.0, 4);
    trial.add(1, {0, 1});
    trial.rates.update();
    CHECK(trial.rate(0) == doctest::Approx(0.8));
    CHECK(trial.rate(1) == doctest::Approx(0.2));
    trial.set_limit(0, 0.3);
    trial.add(2, {1}, 10.0, 3);
    trial.rates.update();
    CHECK(trial.rate(0) == doctest::Approx(0.3));
    CHECK(trial.rate(1) == doctest::Approx(0.25));
    CHECK(trial.rate(2) == doctest::Approx(0.75));
  }

  TEST_CASE("only flows that a change reaches get other rates") {
    Trial trial(3);
    trial.add(0, {0});
    trial.add(1, {1, 2});
    trial.add(2, {2});
    CHECK(trial.rates.update().size() == 3);
    trial.add(3, {1});
    const auto changed = trial.rates.update();
    REQUIRE(changed.size() == 1);
    CHECK(changed.front() == 3);
    trial.remove(2);
    CHECK(trial.rates.update().empty());
    trial.remove(3);
    REQUIRE(trial.rates.update().size() == 1);
    CHECK(trial.rate(1) == doctest::Approx(1.0));
    CHECK(trial.rate(0) == doctest::Approx(1.0));
  }

  TEST_CASE("random flows that come and go and whose limits change, over links whose bandwidths do") {
    std::mt19937 random(7);
    const auto draw = [&](int from, int to) { return static_cast<std::size_t>(std::uniform_int_distribution<>(from, to)(random)); };
    const auto number = [&] { return std::uniform_real_distribution<>(0.1, 2.0)(random); };
    for (int repeat = 0; repeat < 200; ++repeat) {
      const std::size_t links = draw(1, 12);
      Trial trial(links);
      for (int change = 0; change < 100; ++change) {
        const std::size_t flow = draw(0, 20);
        if (draw(0, 9) == 0) {
          trial.set_bandwidth(draw(0, static_cast<int>(links) - 1), number());
        } else if (trial.moves(flow) && draw(0, 2) == 0) {
          trial.set_limit(flow, number());
        } else if (trial.moves(flow)) {
          trial.remove(flow);
        } else {
          std::vector<std::size_t> path;
          for (std::size_t link = 0; link < links; ++link) {
            if (draw(0, 2) == 0) path.push_back(link);
          }
          if (path.empty()) path.push_back(draw(0, static_cast<int>(links) - 1));
          const double limit = draw(0, 3) == 0 ? number() : std::numeric_limits<double>::infinity();
          trial.add(flow, path, limit, static_cast<int>(draw(1, 3)));
        }
        if (draw(0, 2) == 0) continue;  // several changes at once
        trial.rates.update();
        REQUIRE(trial.is_fair());
      }
    }
  }
}
