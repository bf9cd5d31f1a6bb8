#include <doctest/doctest.h>

#include "base/document.hpp"
#include "cluster/cluster.hpp"
#include "collective/algorithms.hpp"

using namespace syncopate;

namespace {

const Algorithm& collective(const std::string& name) {
  const Document document(name, "test");
  return *read_all_reduce(Field(document)).algorithm;
}

constexpr double alpha_s = 3e-5;
constexpr double beta_s = 8e-10;
constexpr double gamma_s = 2e-10;
const LinkCost wire = {Seconds(alpha_s), SecondsPerByte(beta_s), SecondsPerByte(gamma_s)};

Cluster cluster_with_fit(const std::string& algorithm, int ranks) {
  Cluster cluster;
  cluster.name = "fitted";
  cluster.nodes = 64;
  cluster.link = {Rate(1e9), Seconds(1e-6)};
  cluster.fits[Operation::all_reduce] = {
      Fit{.line = {Seconds(1e-3), SecondsPerByte(2e-9)}, .ranks = ranks, .algorithm = &collective(algorithm)}};
  return cluster;
}

}  // namespace

TEST_SUITE("Does an all-reduce cost what the closed forms say?") {
  TEST_CASE("every algorithm, powers of two and not") {
    struct Row {
      const char* name;
      int ranks;
      double a;
      double b;
    };
    // Written out by hand from the formulas; log2 is rounded up.
    const std::vector<Row> table = {
        {"ring", 2, 2 * alpha_s, beta_s + gamma_s / 2},
        {"ring", 8, 14 * alpha_s, 14.0 / 8 * beta_s + 7.0 / 8 * gamma_s},
        {"ring", 7, 12 * alpha_s, 12.0 / 7 * beta_s + 6.0 / 7 * gamma_s},
        {"binary-tree", 8, 6 * alpha_s, 3 * (2 * beta_s + gamma_s)},
        {"binary-tree", 5, 6 * alpha_s, 3 * (2 * beta_s + gamma_s)},
        {"binary-tree", 9, 8 * alpha_s, 4 * (2 * beta_s + gamma_s)},
        {"recursive-doubling", 8, 3 * alpha_s, 3 * (beta_s + gamma_s)},
        {"recursive-doubling", 6, 3 * alpha_s, 3 * (beta_s + gamma_s)},
        {"halving-doubling", 8, 6 * alpha_s, 2 * beta_s - (2 * beta_s + gamma_s) / 8 + gamma_s},
        {"halving-doubling", 3, 4 * alpha_s, 2 * beta_s - (2 * beta_s + gamma_s) / 3 + gamma_s},
        {"double-binary-tree", 8, 6 * alpha_s, beta_s + gamma_s},
        {"double-binary-tree", 2048, 22 * alpha_s, beta_s + gamma_s},
    };
    for (const Row& row : table) {
      CAPTURE(row.name);
      CAPTURE(row.ranks);
      const CostLine line = cost_line(collective(row.name).all_reduce, row.ranks, wire);
      CHECK(line.a.value == doctest::Approx(row.a).epsilon(1e-14));
      CHECK(line.b.value == doctest::Approx(row.b).epsilon(1e-14));
      CHECK(line(Bytes(1e6)).value == doctest::Approx(row.a + 1e6 * row.b).epsilon(1e-14));
    }
    for (const Algorithm& row : algorithms()) CHECK(cost_line(row.all_reduce, 1, wire)(Bytes(1e9)) == Seconds(0));
  }

  TEST_CASE("the table's double binary tree is below the all-reduce bound, as its row says") {
    const LinkCost free_reduction = {Seconds(0), SecondsPerByte(beta_s), SecondsPerByte(0)};
    CHECK(cost_line(collective("double-binary-tree").all_reduce, 64, free_reduction).b < SecondsPerByte(2.0 * 63 / 64 * beta_s));
  }
}

TEST_SUITE("Is a measured line carried to other rank counts and algorithms?") {
  TEST_CASE("a line made from the closed form is carried back onto it, whatever the algorithms") {
    for (const Algorithm& from : algorithms()) {
      Cluster cluster = cluster_with_fit(std::string(from.name), 8);
      cluster.reduce = wire.gamma;
      cluster.fits[Operation::all_reduce].front().line = cost_line(from.all_reduce, 8, wire);
      for (const Algorithm& to : algorithms()) {
        for (const int ranks : {1, 2, 7, 64, 2048}) {
          CAPTURE(from.name);
          CAPTURE(to.name);
          CAPTURE(ranks);
          const CostLine expected = cost_line(to.all_reduce, ranks, wire);
          const CostLine line = collective_cost(cluster, Operation::all_reduce, to, ranks).tangent(Bytes(1));
          CHECK(line.a.value == doctest::Approx(expected.a.value).epsilon(1e-12));
          CHECK(line.b.value == doctest::Approx(expected.b.value).epsilon(1e-12));
        }
      }
    }
  }

  TEST_CASE("a ring's fit grows with N-1 and (N-1)/N") {
    const CostLine line = collective_cost(cluster_with_fit("ring", 8), Operation::all_reduce, collective("ring"), 64).tangent(Bytes(1));
    CHECK(line.a.value == doctest::Approx(1e-3 * 63 / 7));
    CHECK(line.b.value == doctest::Approx(2e-9 * (63.0 / 64) / (7.0 / 8)));
  }

  TEST_CASE("measured points: below the first its time, linear in between, beyond the last as before it") {
    const CostCurve curve = curve_through({{Bytes(1e3), Seconds(0.001)}, {Bytes(1e4), Seconds(0.0015)}, {Bytes(1e6), Seconds(0.01)}});
    CHECK(curve(Bytes(0)).value == doctest::Approx(0.001));
    CHECK(curve(Bytes(999)).value == doctest::Approx(0.001));
    CHECK(curve(Bytes(5500)).value == doctest::Approx(0.00125));
    CHECK(curve(Bytes(1e4)).value == doctest::Approx(0.0015));
    CHECK(curve(Bytes(1.99e6)).value == doctest::Approx(0.0185));
    CHECK(curve.tangent(Bytes(5500)).a.value == doctest::Approx(0.001 - 0.0005 / 9));
  }

  TEST_CASE("points of the closed form are carried onto it, whatever the number of ranks") {
    for (const Algorithm& algorithm : algorithms()) {
      Cluster cluster = cluster_with_fit(std::string(algorithm.name), 8);
      const CostLine measured = cost_line(algorithm.all_reduce, 8, wire);
      for (const double bytes : {1e2, 1e4, 3e7})
        cluster.fits[Operation::all_reduce].front().points.push_back({Bytes(bytes), measured(Bytes(bytes))});
      for (const int ranks : {2, 7, 64, 2048}) {
        CAPTURE(algorithm.name);
        CAPTURE(ranks);
        const CostCurve curve = collective_cost(cluster, Operation::all_reduce, algorithm, ranks);
        const CostLine expected = cost_line(algorithm.all_reduce, ranks, wire);
        for (const double bytes : {1e5, 1e6, 1e9})
          CHECK(curve(Bytes(bytes)).value == doctest::Approx(expected(Bytes(bytes)).value).epsilon(1e-12));
      }
    }
  }

  TEST_CASE("two points of a ring of 8 ranks are two of one of 64: as much in every message, nine times the messages") {
    Cluster cluster = cluster_with_fit("ring", 8);
    cluster.fits[Operation::all_reduce].front().points = {{Bytes(1e4), Seconds(0.003)}, {Bytes(1e6), Seconds(0.005)}};
    const CostCurve curve = collective_cost(cluster, Operation::all_reduce, collective("ring"), 64);
    CHECK(curve(Bytes(8e4)).value == doctest::Approx(0.003 * 63 / 7));
    CHECK(curve(Bytes(8e6)).value == doctest::Approx(0.005 * 63 / 7));
    CHECK(curve(Bytes(1)).value == doctest::Approx(0.003 * 63 / 7));
  }

  TEST_CASE("a fit that is faster than its reduction cannot be carried to another algorithm") {
    Cluster cluster = cluster_with_fit("ring", 8);
    cluster.reduce = SecondsPerByte(1e-8);
    CHECK(can_carry_fit(cluster, collective("ring")));
    CHECK_FALSE(can_carry_fit(cluster, collective("binary-tree")));
    cluster.reduce = SecondsPerByte(0);
    CHECK(can_carry_fit(cluster, collective("binary-tree")));
  }
}
