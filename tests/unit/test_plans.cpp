#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "collective/algorithms.hpp"
#include "collective/plan_path.hpp"
#include "collective/plan_times.hpp"

using namespace syncopate;

namespace {

const std::vector<int> sizes = {2, 3, 4, 5, 6, 7, 8, 12, 16, 17, 31, 32, 33, 64};

std::vector<Stage> stages_of(const Plan& plan) {
  std::vector<Stage> stages;
  for (const PlanStep& step : plan.steps) {
    if (const auto* stage = std::get_if<Stage>(&step)) stages.push_back(*stage);
  }
  return stages;
}

/// How often each rank's contribution is in one part of a rank's data.
using Contributions = std::vector<int>;

/// Moves the plan's messages stage by stage, as what they contain. A first rank acts for all of its node where a message goes to
/// another one: what enters the network are the shares of all of the node's ranks.
class Symbols {
 public:
  explicit Symbols(const Plan& plan) : plan_(plan), data_(static_cast<std::size_t>(plan.ranks), std::vector<Contributions>(parts())) {
    for (auto& rank : data_) std::fill(rank.begin(), rank.end(), Contributions(static_cast<std::size_t>(plan.ranks)));
  }

  Contributions& at(int rank, int part) { return data_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(part)]; }

  /// Every part is the rank's own, or only those of which `owner` says so.
  template <class Owner>
  void fill(Owner&& owner) {
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      for (int part = 0; part < plan_.parts; ++part) {
        if (owner(rank, part)) at(rank, part)[static_cast<std::size_t>(rank)] = 1;
      }
    }
  }

  void run() {
    for (const Stage& stage : stages_of(plan_)) {
      for (int repeat = 0; repeat < stage.repeats; ++repeat) {
        const auto before = data_;
        for (Message message : stage.messages) {
          message.part = next(stage, message.part, static_cast<long>(repeat) * stage.shift);
          move(before, stage, message);
        }
      }
    }
  }

  /// Whether every part of every rank's data is what `expected` says of the part.
  template <class Expected>
  bool hold(Expected&& expected) {
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      for (int part = 0; part < plan_.parts; ++part) {
        if (at(rank, part) != expected(part)) return false;
      }
    }
    return true;
  }

 private:
  std::size_t parts() const { return static_cast<std::size_t>(plan_.parts); }

  /// The part that comes `steps` after `part` round what a message of the stage goes round: a block or, between nodes, a rank's share of
  /// it.
  int next(const Stage& stage, int part, long steps) const {
    const int round = stage.inside ? plan_.block : plan_.block / plan_.node_size;
    const int first = part - part % round;
    const auto moved = static_cast<int>((part - first + steps) % round);
    return first + (moved < 0 ? moved + round : moved);
  }

  void move(const std::vector<std::vector<Contributions>>& before, const Stage& stage, const Message& message) {
    const int ranks = stage.inside ? 1 : plan_.node_size;  // of the node, that each move their share
    for (int i = 0; i < message.parts / ranks; ++i) {
      for (int share = 0; share < ranks; ++share) {
        const int its_part = next(stage, message.part, i) + share * (plan_.block / plan_.node_size);
        const auto part = static_cast<std::size_t>(its_part);
        const Contributions& carried = before[static_cast<std::size_t>(message.from) + static_cast<std::size_t>(share)][part];
        Contributions& own = data_[static_cast<std::size_t>(message.to) + static_cast<std::size_t>(share)][part];
        for (std::size_t rank = 0; rank < own.size(); ++rank) own[rank] = stage.reduces ? own[rank] + carried[rank] : carried[rank];
      }
    }
  }

  const Plan& plan_;
  std::vector<std::vector<Contributions>> data_;  ///< by rank and part
};

Contributions everybody(int ranks) {
  Contributions all(static_cast<std::size_t>(ranks), 1);
  return all;
}

Contributions only(int rank, int ranks) {
  Contributions one(static_cast<std::size_t>(ranks));
  one[static_cast<std::size_t>(rank)] = 1;
  return one;
}

/// What all ranks send, in shares of the data.
double sent(const Plan& plan) {
  double parts = 0.0;
  for (const Stage& stage : stages_of(plan)) {
    for (const Message& message : stage.messages) parts += static_cast<double>(stage.repeats) * message.parts;
  }
  return parts / plan.parts;
}

bool one_message_each(const Plan& plan) {
  const std::vector<Stage> stages = stages_of(plan);
  return std::all_of(stages.begin(), stages.end(), [](const Stage& stage) {
    std::set<int> from;
    std::set<int> to;
    return std::all_of(stage.messages.begin(), stage.messages.end(), [&](const Message& message) {
      return from.insert(message.from).second && to.insert(message.to).second && message.from != message.to;
    });
  });
}

double seconds(const Plan& plan, double alpha, double beta, double gamma, double bytes) {
  PlanTimes times(
      plan,
      [&](const Message&) {
        return Hop{Seconds(alpha), SecondsPerByte(beta)};
      },
      SecondsPerByte(gamma));
  return times.from_equal_starts(Bytes(bytes)).value;
}

int chunks_for(const Algorithm& collective) { return collective.is_pipelined ? 7 : 1; }

}  // namespace

TEST_SUITE("Does every Plan do what its operation says, with the textbook's bytes?") {
  TEST_CASE("all-reduce: every rank ends with every contribution exactly once") {
    for (const Algorithm& collective : algorithms()) {
      for (const int ranks : sizes) {
        for (const int chunks : {chunks_for(collective), collective.takes_chunks ? 3 : 1}) {
          CAPTURE(collective.name);
          CAPTURE(ranks);
          CAPTURE(chunks);
          const Plan plan = collective.plan(Operation::all_reduce, ranks, chunks);
          CHECK(one_message_each(plan));
          Symbols symbols(plan);
          symbols.fill([](int, int) { return true; });
          symbols.run();
          CHECK(symbols.hold([&](int /*part*/) { return everybody(ranks); }));
          const bool power_of_two = (ranks & (ranks - 1)) == 0;
          if (collective.name != "recursive-doubling") CHECK(sent(plan) == doctest::Approx(2.0 * (ranks - 1)));
          if (collective.name == "recursive-doubling" && power_of_two) CHECK(sent(plan) == doctest::Approx(ranks * std::log2(ranks)));
        }
      }
    }
  }

  TEST_CASE("reduce-scatter: every part is complete at one rank, and each rank has one") {
    for (const Algorithm& collective : algorithms()) {
      for (const int ranks : sizes) {
        CAPTURE(collective.name);
        CAPTURE(ranks);
        const Plan plan = collective.plan(Operation::reduce_scatter, ranks, 1);
        CHECK(one_message_each(plan));
        Symbols symbols(plan);
        symbols.fill([](int, int) { return true; });
        symbols.run();
        for (int rank = 0; rank < ranks; ++rank) CHECK(symbols.at(rank, rank) == everybody(ranks));
        CHECK(sent(plan) == doctest::Approx(ranks - 1.0));
      }
    }
  }

  TEST_CASE("all-gather: every rank ends with every rank's part") {
    for (const Algorithm& collective : algorithms()) {
      for (const int ranks : sizes) {
        CAPTURE(collective.name);
        CAPTURE(ranks);
        const Plan plan = collective.plan(Operation::all_gather, ranks, 1);
        CHECK(one_message_each(plan));
        Symbols symbols(plan);
        symbols.fill([](int rank, int part) { return rank == part; });
        symbols.run();
        CHECK(symbols.hold([&](int part) { return only(part, ranks); }));
        CHECK(sent(plan) == doctest::Approx(ranks - 1.0));
      }
    }
  }

  TEST_CASE("broadcast: every rank ends with what rank 0 has") {
    for (const Algorithm& collective : algorithms()) {
      for (const int ranks : sizes) {
        for (const int chunks : {1, 4}) {
          CAPTURE(collective.name);
          CAPTURE(ranks);
          const Plan plan = collective.plan(Operation::broadcast, ranks, chunks);
          CHECK(one_message_each(plan));
          Symbols symbols(plan);
          symbols.fill([](int rank, int) { return rank == 0; });
          symbols.run();
          CHECK(symbols.hold([&](int /*part*/) { return only(0, ranks); }));
          CHECK(sent(plan) == doctest::Approx(ranks - 1.0));
        }
      }
    }
  }

  TEST_CASE("two levels: inside the nodes, among them, inside again, whatever the operation") {
    for (const Algorithm& algorithm : algorithms()) {
      for (const int nodes : {1, 2, 3, 4, 7, 8}) {
        for (const int gpus : {2, 3}) {
          for (const int chunks : {1, 3}) {
            CAPTURE(algorithm.name);
            CAPTURE(nodes);
            CAPTURE(gpus);
            CAPTURE(chunks);
            const int ranks = nodes * gpus;
            const auto moved = [&](Operation operation, auto&& owner, auto&& look) {
              const Plan plan = two_level_plan(operation, nodes, gpus, algorithm.plan(operation, nodes, chunks_for(algorithm)),
                                               chunks_for(algorithm), chunks);
              CHECK(one_message_each(plan));
              Symbols symbols(plan);
              // The j-th rank of node i owns, of every block's j-th share, the i-th part of as many as there are nodes.
              const int share = plan.block / gpus;
              const int per_node = std::max(1, share / nodes);
              const auto owns = [&](int rank, int part) {
                const int within = part % plan.block;
                return within / share == rank % gpus && (within % share) / per_node == rank / gpus;
              };
              symbols.fill([&](int rank, int part) { return owner(rank, part, owns); });
              symbols.run();
              look(plan, symbols, owns);
            };
            const auto all = [](int, int, const auto&) { return true; };
            const auto own = [](int rank, int part, const auto& owns) { return owns(rank, part); };
            moved(Operation::all_reduce, all,
                  [&](const Plan&, Symbols& symbols, const auto&) { CHECK(symbols.hold([&](int /*part*/) { return everybody(ranks); })); });
            moved(
                Operation::broadcast, [](int rank, int, const auto&) { return rank == 0; },
                [&](const Plan&, Symbols& symbols, const auto&) { CHECK(symbols.hold([&](int) { return only(0, ranks); })); });
            moved(Operation::reduce_scatter, all, [&](const Plan& plan, Symbols& symbols, const auto& owns) {
              const Contributions whole = everybody(ranks);
              bool is_whole = true;
              for (int rank = 0; rank < ranks; ++rank) {
                for (int part = 0; part < plan.parts; ++part) {
                  if (owns(rank, part)) is_whole = is_whole && symbols.at(rank, part) == whole;
                }
              }
              CHECK(is_whole);
            });
            moved(Operation::all_gather, own, [&](const Plan& plan, Symbols& symbols, const auto& owns) {
              CHECK(symbols.hold([&](int part) {
                for (int rank = 0; rank < ranks; ++rank) {
                  if (owns(rank, part)) return only(rank, ranks);
                }
                return Contributions(static_cast<std::size_t>(plan.ranks));
              }));
            });
          }
        }
      }
    }
  }
}

TEST_SUITE("Does the all-reduce by region add up in each region first?") {
  std::vector<std::vector<std::size_t>> cases() {
    return {{0}, {0, 0, 0}, {0, 1}, {0, 0, 0, 1, 1, 2}, {3, 1, 3, 1, 1, 0, 3, 2}, {5, 5, 5, 5, 5, 2}};
  }

  TEST_CASE("every rank ends with every contribution exactly once, on nodes of any size") {
    for (const std::vector<std::size_t>& regions : cases()) {
      for (const int pieces : {1, 3, 5}) {
        for (const int gpus : {1, 2, 3}) {
          CAPTURE(pieces);
          CAPTURE(gpus);
          const auto nodes = static_cast<int>(regions.size());
          const Plan plan = two_level_plan(Operation::all_reduce, nodes, gpus, region_plan(regions, pieces), pieces, 1);
          CHECK(one_message_each(plan));
          Symbols symbols(plan);
          symbols.fill([](int, int) { return true; });
          symbols.run();
          CHECK(symbols.hold([&](int) { return everybody(nodes * gpus); }));
        }
      }
    }
  }

  TEST_CASE("between regions move 2(R-1)/R of the vector for each of R regions, inside twice the vector for each rank but the first") {
    for (const std::vector<std::size_t>& regions : cases()) {
      const Plan plan = region_plan(regions, 4);
      const double count = static_cast<double>(std::set<std::size_t>(regions.begin(), regions.end()).size());
      double between = 0.0;
      double inside = 0.0;
      for (const Stage& stage : stages_of(plan)) {
        for (const Message& message : stage.messages) {
          const bool leaves = regions[static_cast<std::size_t>(message.from)] != regions[static_cast<std::size_t>(message.to)];
          (leaves ? between : inside) += static_cast<double>(stage.repeats) * message.parts / plan.parts;
        }
      }
      CHECK(between == doctest::Approx(2.0 * (count - 1.0)));
      CHECK(inside == doctest::Approx(2.0 * (static_cast<double>(regions.size()) - count)));
    }
  }

  TEST_CASE("equal links: the pieces follow each other along the chains of equal regions, the ring comes in between") {
    const double alpha = 3e-5;
    const double beta = 8e-10;
    const double bytes = 1.2e7;
    for (const int pieces : {1, 4, 24}) {
      const double piece = alpha + beta * bytes / pieces;
      const double chain = 3.0 * piece + (pieces - 1) * beta * bytes / pieces;  // of four ranks
      const double ring = 4.0 * (alpha + beta * bytes / 3.0);
      CHECK(seconds(region_plan({0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}, pieces), alpha, beta, 0.0, bytes) ==
            doctest::Approx(2.0 * chain + ring).epsilon(1e-12));
    }
  }
}

TEST_SUITE("Do a Plan's messages take as long as the closed forms say?") {
  constexpr double alpha = 3e-5;
  constexpr double beta = 8e-10;
  constexpr double gamma = 2e-10;
  constexpr double bytes = 1.7e7;

  TEST_CASE("equal links, equal starts: alpha-beta, but for the double tree") {
    for (const Algorithm& collective : algorithms()) {
      if (collective.is_pipelined) continue;
      for (const int ranks : {2, 4, 8, 16, 32, 64}) {
        CAPTURE(collective.name);
        CAPTURE(ranks);
        const CostLine line = cost_line(collective.all_reduce, ranks, {Seconds(alpha), SecondsPerByte(beta), SecondsPerByte(gamma)});
        CHECK(seconds(collective.plan(Operation::all_reduce, ranks, 1), alpha, beta, gamma, bytes) ==
              doctest::Approx(line(Bytes(bytes)).value).epsilon(1e-12));
      }
    }
  }

  TEST_CASE("any number of ranks: ring, and halving/doubling in as many rounds as log2 rounded up") {
    for (const std::size_t row : {0U, 3U}) {
      const Algorithm& collective = algorithms()[row];
      for (const int ranks : {3, 5, 6, 7, 12, 33, 100}) {
        CAPTURE(collective.name);
        CAPTURE(ranks);
        const CostLine line = cost_line(collective.all_reduce, ranks, {Seconds(alpha), SecondsPerByte(beta), SecondsPerByte(gamma)});
        // Its rounds are of several sizes, whose reductions need not all be waited for.
        CHECK(seconds(collective.plan(Operation::all_reduce, ranks, 1), alpha, beta, 0.0, bytes) ==
              doctest::Approx(line.a.value + 2.0 * (ranks - 1) / ranks * beta * bytes).epsilon(1e-12));
      }
    }
  }

  TEST_CASE("the double tree: its true cost is about 2 beta, above the bound of any all-reduce") {
    for (const int ranks : {2, 3, 8, 16, 33, 64, 256, 1000}) {
      CAPTURE(ranks);
      const Plan plan = double_binary_tree_plan(Operation::all_reduce, ranks, double_tree_chunks(ranks, Bytes(1e9), {}));
      const double transfer = seconds(plan, 0.0, beta, 0.0, 1e9);
      CHECK(transfer >= 2.0 * (ranks - 1) / ranks * beta * 1e9 * (1.0 - 1e-12));
      CHECK(transfer <= 2.25 * beta * 1e9);
      const Plan whole = double_binary_tree_plan(Operation::all_reduce, ranks, double_tree_chunks(ranks, Bytes(0), {}));
      const double latency = seconds(whole, alpha, beta, 0.0, 0.0);
      CHECK(latency <= 2.0 * std::ceil(std::log2(ranks + 1)) * alpha * (1.0 + 1e-12));
    }
  }

  TEST_CASE("over long links the double tree's chunks are near the best size") {
    for (const double latency : {1e-4, 1e-3, 1e-2, 1e-1}) {
      for (const int ranks : {4, 16, 64}) {
        for (const double size : {1e6, 1e7, 1e8}) {
          for (const double reduction : {0.0, 0.3, 1.25}) {
            CAPTURE(latency);
            CAPTURE(ranks);
            CAPTURE(size);
            CAPTURE(reduction);
            const auto time = [&](int chunks) {
              return seconds(double_binary_tree_plan(Operation::all_reduce, ranks, chunks), latency, beta, reduction * beta, size);
            };
            const double chosen = time(double_tree_chunks(ranks, Bytes(size), {Bytes(latency / beta), reduction}));
            for (int chunks = 1; chunks * 65536.0 <= size; chunks *= 2) CHECK(chosen <= 1.15 * time(chunks));
          }
        }
      }
    }
  }

  TEST_CASE("three or four nodes tell whether a plan of any number of nodes treats all ranks alike") {
    for (const Algorithm& collective : algorithms()) {
      AllReduce all_reduce;
      all_reduce.algorithm = &collective;
      for (const Operation operation : {Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather, Operation::broadcast}) {
        for (const int ranks_per_node : {1, 2, 4}) {
          for (int nodes = 2; nodes <= 33; ++nodes) {
            CAPTURE(collective.name);
            CAPTURE(to_string(operation));
            CAPTURE(ranks_per_node);
            CAPTURE(nodes);
            const auto is_symmetric_on = [&](int of_nodes) {
              return is_symmetric(make_plan(all_reduce, operation, {.nodes = of_nodes, .ranks_per_node = ranks_per_node}, {}));
            };
            const bool is_power_of_two = (nodes & (nodes - 1)) == 0;
            CHECK(is_symmetric_on(nodes) == is_symmetric_on(is_power_of_two ? std::min(nodes, 4) : 3));
          }
        }
      }
    }
  }

  TEST_CASE("in lock-step one rank gives what all give") {
    int in_lockstep = 0;
    for (const Algorithm& collective : algorithms()) {
      for (const int nodes : {2, 3, 4, 8, 12}) {
        for (const int gpus : {1, 2, 4}) {
          for (const Operation operation : {Operation::all_reduce, Operation::all_gather}) {
            CAPTURE(collective.name);
            CAPTURE(nodes);
            CAPTURE(gpus);
            Plan plan = two_level_plan(operation, nodes, gpus, collective.plan(operation, nodes, chunks_for(collective)),
                                       chunks_for(collective), 1);
            plan.protocol = {nodes % 3 == 0, 1 + nodes % 4 / 2};
            PlanTimes times(
                plan,
                [&](const Message& message) {
                  const bool inside = message.from / gpus == message.to / gpus;
                  return Hop{Seconds(inside ? 1e-6 : alpha), SecondsPerByte(inside ? 1e-10 : beta)};
                },
                SecondsPerByte(gamma));
            if (!times.in_lockstep()) continue;
            ++in_lockstep;
            const std::vector<Seconds> starts(static_cast<std::size_t>(plan.ranks), Seconds(0));
            std::vector<Seconds> ends(starts.size());
            times(Bytes(bytes), 1.3, starts, ends);
            for (const Seconds end : ends)
              CHECK(end.value == doctest::Approx(times.from_equal_starts(Bytes(bytes), 1.3).value).epsilon(1e-13));
          }
        }
      }
    }
    CHECK(in_lockstep > 40);
  }

  TEST_CASE("protocols: a segment of a ring comes round in two latencies and its transfer, or when the others have moved") {
    for (const int ranks : {2, 3, 4, 8}) {
      for (const double its_bytes : {0.0, 1e3, 1e6, 1e9}) {
        for (const Protocol& protocol : {Protocol{false, 1}, Protocol{false, 3}, Protocol{true, 1}, Protocol{true, 2}, Protocol{true, 5}}) {
          CAPTURE(ranks);
          CAPTURE(its_bytes);
          CAPTURE(protocol.rendezvous);
          CAPTURE(protocol.segments);
          Plan plan = ring_plan(Operation::all_reduce, ranks, 1);
          plan.protocol = protocol;
          const double segment = its_bytes / ranks / protocol.segments;
          const double notice = protocol.rendezvous ? alpha : 0.0;
          double expected = notice + protocol.segments * beta * segment + alpha;
          for (int round = 0; round + 1 < 2 * (ranks - 1); ++round) {
            const double comes_round = beta * segment + alpha + (round < ranks - 1 ? gamma * segment : 0.0) + notice;
            expected += std::max(comes_round, protocol.segments * beta * segment);
          }
          CHECK(seconds(plan, alpha, beta, gamma, its_bytes) == doctest::Approx(expected).epsilon(1e-12));
        }
      }
    }
  }

  TEST_CASE("a ring over unequal links is the recurrence over regions") {
    std::mt19937 random(3);
    for (int i = 0; i < 200; ++i) {
      const int ranks = std::uniform_int_distribution<int>(2, 12)(random);
      std::vector<Hop> hops;
      hops.reserve(static_cast<std::size_t>(ranks));
      for (int rank = 0; rank < ranks; ++rank) {
        hops.push_back({Seconds(std::uniform_real_distribution<double>(0, 1e-3)(random)),
                        SecondsPerByte(std::uniform_real_distribution<double>(1e-10, 1e-8)(random))});
      }
      PlanTimes times(
          ring_plan(Operation::all_reduce, ranks, 1), [&](const Message& message) { return hops[static_cast<std::size_t>(message.from)]; },
          SecondsPerByte(gamma));
      const Seconds recurrence = ring_time(hops, 2 * (ranks - 1), Bytes(bytes) / ranks, ranks - 1, SecondsPerByte(gamma));
      CHECK(times.from_equal_starts(Bytes(bytes)).value == doctest::Approx(recurrence.value).epsilon(1e-12));
    }
  }

  TEST_CASE("a large ring of equal bandwidths is its rounds, one after the other") {
    std::mt19937 random(4);
    const auto between = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
    for (const int ranks : {64, 65, 66, 100, 255, 700}) {
      for (const double most_latency : {0.0, 1e-6, 1e-3, 1.0}) {
        for (const double most_lateness : {0.0, 1e-4, 1e-1, 10.0}) {
          CAPTURE(ranks);
          CAPTURE(most_latency);
          CAPTURE(most_lateness);
          const bool alike = between(0, 1) < 0.5;
          std::vector<double> latencies(static_cast<std::size_t>(ranks));
          std::vector<Seconds> starts(latencies.size());
          for (double& latency : latencies) latency = alike ? most_latency : between(0, most_latency);
          for (Seconds& start : starts) start = Seconds(between(0, most_lateness));
          PlanTimes times(
              ring_plan(Operation::all_reduce, ranks, 1),
              [&](const Message& message) {
                return Hop{Seconds(latencies[static_cast<std::size_t>(message.from)]), SecondsPerByte(beta)};
              },
              SecondsPerByte(gamma));
          std::vector<Seconds> ends(latencies.size());
          times(Bytes(bytes), 2.0, starts, ends);

          const double part = bytes / ranks;
          std::vector<double> sends(latencies.size());  // until when
          std::vector<double> receives(latencies.size());
          std::vector<double> holds(latencies.size());  // from when on, what it sends next
          for (std::size_t rank = 0; rank < sends.size(); ++rank) sends[rank] = receives[rank] = holds[rank] = starts[rank].value;
          for (int round = 0; round < 2 * (ranks - 1); ++round) {
            const std::vector<double> held = holds;
            for (std::size_t rank = 0; rank < sends.size(); ++rank) {
              const std::size_t next = (rank + 1) % sends.size();
              sends[rank] = receives[next] = std::max({sends[rank], receives[next], held[rank]}) + beta * part;
              holds[next] = sends[rank] + 2.0 * latencies[rank] + (round < ranks - 1 ? gamma * part : 0.0);
            }
          }
          for (std::size_t rank = 0; rank < sends.size(); ++rank) {
            CHECK(ends[rank].value == doctest::Approx(std::max(sends[rank], holds[rank])).epsilon(1e-12));
          }
        }
      }
    }
  }

  TEST_CASE("a late rank: the others have got ready what does not need it") {
    // Ring of N, rank 0 late by L: what its neighbour could not send before goes to it and all the way round, N + 1 latencies.
    const int ranks = 8;
    PlanTimes times(
        ring_plan(Operation::all_reduce, ranks, 1),
        [&](const Message&) {
          return Hop{Seconds(alpha), SecondsPerByte(beta)};
        },
        SecondsPerByte(0));
    std::vector<Seconds> starts(ranks);
    std::vector<Seconds> ends(ranks);
    starts[0] = Seconds(5);
    times(Bytes(bytes), 1.0, starts, ends);
    const double chunk = beta * bytes / ranks;
    CHECK(ends[0].value == doctest::Approx(5 + 2 * (ranks - 1) * chunk + (ranks + 1) * alpha).epsilon(1e-12));
    const Seconds last = *std::max_element(ends.begin(), ends.end());
    CHECK(last.value == doctest::Approx(5 + 2 * (ranks - 1) * (chunk + alpha)).epsilon(1e-12));
  }

  TEST_CASE("a rank's path is as long as it takes, and what is on it decides") {
    std::mt19937 random(11);
    for (int i = 0; i < 400; ++i) {
      const Algorithm& collective = algorithms()[static_cast<std::size_t>(i) % algorithms().size()];
      const int nodes = std::uniform_int_distribution<int>(2, 9)(random);
      const int gpus = std::uniform_int_distribution<int>(1, 3)(random);
      const auto operation = static_cast<Operation>(i / 8 % 4);
      CAPTURE(collective.name);
      CAPTURE(nodes);
      CAPTURE(gpus);
      Plan plan = two_level_plan(operation, nodes, gpus, collective.plan(operation, nodes, chunks_for(collective)), chunks_for(collective),
                                 1 + i % 3);
      plan.protocol = {i % 5 == 0, 1 + i % 7 / 3};
      const auto hop = [&](const Message& message) {
        const bool inside = message.from / gpus == message.to / gpus;
        return Hop{Seconds((inside ? 1e-6 : alpha) * (1 + message.from % 3)),
                   SecondsPerByte((inside ? 1e-10 : beta) * (i % 2 == 0 ? 1 : 1 + message.to % 4))};
      };
      std::vector<Seconds> starts;
      starts.reserve(static_cast<std::size_t>(plan.ranks));
      for (int rank = 0; rank < plan.ranks; ++rank)
        starts.emplace_back(i % 4 == 0 ? 0.0 : std::uniform_real_distribution<double>(0, 0.1)(random));
      const auto ends_of = [&](double gamma_factor, const std::vector<Seconds>& from) {
        std::vector<Seconds> ends(from.size());
        PlanTimes(plan, hop, SecondsPerByte(gamma_factor * gamma))(Bytes(bytes), 1.3, from, ends);
        return ends;
      };
      const std::vector<Seconds> ends = ends_of(1.0, starts);
      const auto rank = static_cast<std::size_t>(i) % ends.size();
      const PlanPath path = find_path(
          plan, [&](int step, int message) { return hop(plan.stage(step).messages[static_cast<std::size_t>(message)]); },
          SecondsPerByte(gamma), Bytes(bytes), 1.3, starts, static_cast<int>(rank));
      const auto origin = static_cast<std::size_t>(path.origin);
      Seconds length;
      Seconds reduction;
      for (const PlanPath::Piece& piece : path.pieces) {
        length += piece.length;
        if (piece.kind == PlanPath::Kind::reduce) reduction += piece.length;
      }
      CHECK((starts[origin] + length).value == doctest::Approx(ends[rank].value).epsilon(1e-12));
      constexpr double little = 1e-7;
      std::vector<Seconds> later = starts;
      later[origin] += Seconds(little);
      CHECK((ends_of(1.0, later)[rank] - ends[rank]).value == doctest::Approx(little).epsilon(1e-6));
      CHECK(ends_of(1.0 + little, starts)[rank] - ends[rank] >= little * reduction - Seconds(1e-15));
    }
  }

  TEST_CASE("starting later never ends earlier, and all as much later ends as much later") {
    std::mt19937 random(4);
    for (int i = 0; i < 300; ++i) {
      const Algorithm& collective = algorithms()[static_cast<std::size_t>(i) % algorithms().size()];
      const int ranks = std::uniform_int_distribution<int>(2, 20)(random);
      CAPTURE(collective.name);
      CAPTURE(ranks);
      PlanTimes times(
          collective.plan(Operation::all_reduce, ranks, chunks_for(collective)),
          [&](const Message& message) {
            return Hop{Seconds(alpha * (1 + message.from % 3)), SecondsPerByte(beta * (1 + message.to % 4))};
          },
          SecondsPerByte(gamma));
      std::vector<Seconds> starts;
      starts.reserve(static_cast<std::size_t>(ranks));
      for (int rank = 0; rank < ranks; ++rank) starts.emplace_back(std::uniform_real_distribution<double>(0, 0.1)(random));
      std::vector<Seconds> before(starts.size());
      times(Bytes(bytes), 1.0, starts, before);
      for (const Seconds end : before) CHECK(end >= *std::max_element(starts.begin(), starts.end()));
      std::vector<Seconds> shifted = starts;
      for (Seconds& start : shifted) start += Seconds(1);
      std::vector<Seconds> after(starts.size());
      times(Bytes(bytes), 1.0, shifted, after);
      for (std::size_t rank = 0; rank < starts.size(); ++rank)
        CHECK(after[rank].value == doctest::Approx(before[rank].value + 1).epsilon(1e-12));
      starts[static_cast<std::size_t>(i) % starts.size()] += Seconds(0.05);
      times(Bytes(bytes), 1.0, starts, after);
      for (std::size_t rank = 0; rank < starts.size(); ++rank) CHECK(after[rank] >= before[rank]);
    }
  }
}
