#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <functional>
#include <random>

#include "base/errors.hpp"
#include "base/processes.hpp"
#include "cluster/alpha_beta.hpp"
#include "engine/clock/actors.hpp"
#include "engine/fidelity.hpp"
#include "engine/simulate.hpp"
#include "metrics/metrics.hpp"

using namespace syncopate;

namespace {

constexpr std::array all_fidelities = {Fidelity::alpha_beta, Fidelity::per_message, Fidelity::flow};

Cluster star(int nodes, double bandwidth, double latency) {
  Cluster cluster;
  cluster.name = "star";
  cluster.nodes = nodes;
  cluster.link = {Rate(bandwidth), Seconds(latency)};
  cluster.intra_node = {Rate(10 * bandwidth), Seconds(latency / 10)};
  cluster.topology = default_topology();
  return cluster;
}

SharedPayload payload(const std::string& label, double bytes) {
  return std::make_shared<Payload>(Payload{label, {{0, Bytes(bytes)}}, Bytes(bytes)});
}

/// A job whose steps compute for a second, on a cluster, in any fidelity; simulated in a process of its own.
class Trial {
 public:
  explicit Trial(Cluster where) : cluster(std::move(where)) {
    job.profile.layers = {{"only", Seconds(0.5), Seconds(0.5)}};
    job.profile.gradients = {{"only.weight", Bytes(1), Seconds(0.5), 0}};
    job.profile.forward = job.profile.backward = Seconds(0.5);
    job.ranks = cluster.workers();
    job.streams = {{.groups = {Communicator(job.ranks)}}};
    job.warmup = 1;
    job.measured = 3;
  }

  /// What `look` makes of the timeline, or "error: " and why there is none.
  std::string run(Fidelity fidelity, const std::function<std::string(const JobTimeline&)>& look) const {
    std::string result;
    actors();  // loaded once, for all processes
    run_forked(
        1, 1,
        [&](int) {
          Network network(cluster, cluster.gpus_per_node, {}, {});
          PlannedCollectives planned(cluster, default_all_reduce(), network, cluster.gpus_per_node);
          Job its = job;
          if (fidelity == Fidelity::per_message) its.model = PerMessage{&planned};
          if (fidelity == Fidelity::flow) its.model = PerFlow{&planned};
          if (fidelity == Fidelity::alpha_beta) {
            its.model = AlphaBeta{[&](Operation operation, const Communicator& communicator, Bytes bytes, bool) {
              return CollectiveCosts(cluster, default_all_reduce(), communicator, cluster.gpus_per_node, {})(operation, bytes);
            }};
          }
          return look(simulate({its}, network).front());
        },
        [&](int, const Outcome& outcome) { result = outcome.ok ? outcome.result : "error: " + outcome.error; });
    return result;
  }

  double iteration(Fidelity fidelity) const {
    const std::string text =
        run(fidelity, [](const JobTimeline& timeline) { return fmt::format("{}", measure(timeline, 1).iteration.value); });
    REQUIRE_MESSAGE(!text.starts_with("error"), text);
    return std::stod(text);
  }

  Cluster cluster;
  Job job;
};

std::string ends_of_first_step(const JobTimeline& timeline) {
  std::vector<std::string> ends;
  for (const CollectiveSpan& span : timeline.collectives) {
    if (span.round == 0) ends.push_back(fmt::format("{} {:.9g}", span.payload->label, span.end.value));
  }
  return fmt::format("{}", fmt::join(ends, ", "));
}

// Two nodes that move a byte per second: a ring's all-reduce of M bytes takes M seconds.
Cluster two_nodes() { return star(2, 1.0, 0.0); }

/// Forward of a layer waits for the gradient of that layer from the step before. All layers take 1 s forward and 1 s backward;
/// their gradients take 1, 4 and 4 s, in parts of `part` seconds.
Trial gated_by_layer(bool by_priority, double part) {
  Trial trial(two_nodes());
  trial.job.profile.layers = {{"a", Seconds(1), Seconds(1)}, {"b", Seconds(1), Seconds(1)}, {"c", Seconds(1), Seconds(1)}};
  trial.job.profile.gradients = {{"c", Bytes(4), Seconds(1), 2}, {"b", Bytes(4), Seconds(2), 1}, {"a", Bytes(1), Seconds(3), 0}};
  trial.job.profile.forward = trial.job.profile.backward = Seconds(3);
  trial.job.streams.front().rules.by_priority = by_priority;
  trial.job.program = [by_priority, part](Worker& worker) {
    constexpr std::array bytes = {1.0, 4.0, 4.0};
    std::array<std::vector<Handle>, 3> pending;
    while (worker.next_step()) {
      for (std::size_t layer = 0; layer < 3; ++layer) {
        worker.collectives().wait(pending[layer]);
        worker.forward(layer);
      }
      for (std::size_t layer = 3; layer-- > 0;) {
        worker.backward(layer);
        pending[layer].clear();
        for (double sent = 0.0; sent < bytes[layer]; sent += part) {
          const double priority = by_priority ? static_cast<double>(layer) : 0.0;
          pending[layer].push_back(worker.collectives().post(payload(fmt::format("{}", layer), std::min(part, bytes[layer])), worker.step(),
                                                             {.priority = priority}));
        }
      }
    }
  };
  return trial;
}

}  // namespace

TEST_SUITE("Does a stream start what its rules say, in every fidelity?") {
  TEST_CASE("three layers that wait for their gradients: 13 s, by priority 12 s, in parts 11 s") {
    struct Row {
      bool by_priority;
      double part;
      double iteration;
    };
    for (const Row& row : {Row{false, 4.0, 13.0}, Row{true, 4.0, 12.0}, Row{true, 1.0, 11.0}}) {
      for (const Fidelity fidelity : all_fidelities) {
        for (const bool run_ahead : {true, false}) {
          for (const bool lockstep : {true, false}) {
            if (lockstep && fidelity == Fidelity::flow) continue;
            CAPTURE(row.iteration);
            CAPTURE(to_string(fidelity));
            CAPTURE(run_ahead);
            CAPTURE(lockstep);
            Trial trial = gated_by_layer(row.by_priority, row.part);
            trial.job.run_ahead = trial.job.shortcuts = run_ahead;
            trial.job.lockstep = lockstep;
            CHECK(trial.iteration(fidelity) == doctest::Approx(row.iteration).epsilon(1e-9));
          }
        }
      }
    }
  }

  TEST_CASE("what is posted at the same instant, and at the instant of an end, goes by its own priority") {
    for (const Fidelity fidelity : all_fidelities) {
      for (const bool shortcuts : {true, false}) {
        CAPTURE(to_string(fidelity));
        CAPTURE(shortcuts);
        Trial trial(two_nodes());
        trial.job.run_ahead = trial.job.shortcuts = shortcuts;
        trial.job.streams.front().rules.by_priority = true;
        trial.job.program = [](Worker& worker) {
          while (worker.next_step()) {
            worker.forward();
            worker.backward();
            std::vector<Handle> posted;
            posted.reserve(12);
            for (int i = 0; i < 12; ++i) {
              posted.push_back(worker.collectives().post(payload(fmt::format("{}", i), 1), worker.step(),
                                                         {.priority = static_cast<double>((7 * i) % 12)}));
            }
            // At the very end of the second one the most urgent of all is posted.
            worker.spend(Seconds(2));
            posted.push_back(worker.collectives().post(payload("last", 1), worker.step(), {.priority = -1.0}));
            worker.collectives().wait(posted);
          }
        };
        const auto order = [](const JobTimeline& timeline) {
          std::string labels;
          for (const CollectiveSpan& span : timeline.collectives) labels += span.round == 2 ? span.payload->label + ' ' : "";
          return labels;
        };
        CHECK(trial.run(fidelity, order) == "0 7 last 2 9 4 11 6 1 8 3 10 5 ");
      }
    }
  }

  TEST_CASE("with one priority everywhere, the order of posting, also of unequal workers") {
    for (const Fidelity fidelity : all_fidelities) {
      for (const unsigned seed : {1U, 2U, 3U}) {
        CAPTURE(to_string(fidelity));
        Trial trial(star(5, 1e3, 1e-2));
        trial.job.speed.jitter = {Jitter::Distribution::lognormal, 0.3, {}};
        trial.job.speed.seed = seed;
        trial.job.program = [](Worker& worker) {
          std::vector<Handle> posted;
          while (worker.next_step()) {
            worker.forward();
            posted.clear();
            for (const double bytes : {30.0, 100.0, 500.0}) {
              worker.backward_until(Seconds(bytes / 1000.0));
              posted.push_back(worker.collectives().post(payload("part", bytes), worker.step()));
            }
            worker.backward();
            worker.collectives().wait(posted);
          }
        };
        const double in_order = trial.iteration(fidelity);
        trial.job.streams.front().rules.by_priority = true;
        const double by_priority = trial.iteration(fidelity);
        if (fidelity == Fidelity::alpha_beta) CHECK(by_priority == in_order);
        CHECK(by_priority == doctest::Approx(in_order).epsilon(1e-12));  // messages go event by event, flows start a rounding error later
      }
    }
  }

  TEST_CASE("channels: latencies of collectives in flight pass together, transfers follow each other") {
    Trial trial(star(2, 1.0, 0.5));  // a ring of two: a latency of 1 s and M seconds
    trial.job.program = [](Worker& worker) {
      while (worker.next_step()) {
        worker.forward();
        worker.backward();
        std::vector<Handle> posted;
        for (const char* label : {"a", "b", "c"}) posted.push_back(worker.collectives().post(payload(label, 2), worker.step()));
        worker.collectives().wait(posted);
      }
    };
    const auto ends = [&](int channels) {
      trial.job.streams.front().rules.channels = channels;
      return trial.run(Fidelity::alpha_beta, ends_of_first_step);
    };
    CHECK(ends(1) == "a 4, b 7, c 10");
    CHECK(ends(2) == "a 4, b 6, c 8");  // c starts when a has ended, and waits for b's transfer
    CHECK(ends(3) == "a 4, b 6, c 8");
    CHECK(ends(unlimited) == "a 4, b 6, c 8");
  }

  TEST_CASE("channels do not multiply a link: without latencies the last collective ends when it would with one channel") {
    for (const Fidelity fidelity : all_fidelities) {
      for (const int channels : {1, 2, 3, unlimited}) {
        CAPTURE(to_string(fidelity));
        CAPTURE(channels);
        Trial trial(two_nodes());
        trial.job.streams.front().rules.channels = channels;
        trial.job.program = [](Worker& worker) {
          while (worker.next_step()) {
            worker.forward();
            worker.backward();
            std::vector<Handle> posted;
            for (const double bytes : {1.0, 2.0, 3.0}) posted.push_back(worker.collectives().post(payload("part", bytes), worker.step()));
            worker.collectives().wait(posted);
          }
        };
        CHECK(trial.iteration(fidelity) == doctest::Approx(7.0).epsilon(1e-9));
      }
    }
  }

  TEST_CASE("a post with a priority to a stream that has none is refused, as is one from outside, or to no stream") {
    Trial trial(star(4, 1.0, 0.0));
    trial.job.program = [](Worker& worker) {
      while (worker.next_step()) {
        worker.forward();
        worker.collectives().wait(worker.collectives().post(payload("urgent", 1), worker.step(), {.priority = -1.0}));
      }
    };
    const auto nothing = [](const JobTimeline&) { return std::string("a number"); };
    CHECK(trial.run(Fidelity::alpha_beta, nothing) ==
          "error: rank 0 posted \"urgent\" with a priority to stream 0, which serves in the order of posting; set by_priority in the "
          "stream's rules");
    trial.job.program = [](Worker& worker) {
      while (worker.next_step()) {
        worker.forward();
        worker.collectives().wait(worker.collectives().post(payload("all", 1), worker.step(), {.stream = 1}));
      }
    };
    CHECK(trial.run(Fidelity::alpha_beta, nothing) == "error: a program uses stream 1, but its job has 1 streams");
    trial.job.streams.push_back({.groups = {Communicator(2, 2)}});
    CHECK(trial.run(Fidelity::alpha_beta, nothing) == "error: rank 0 is not a member of the communicator of stream 1");
    trial.job.streams.back() = {.groups = {Communicator(4)}, .operations = {Operation::all_gather}};
    CHECK(trial.run(Fidelity::alpha_beta, nothing) ==
          "error: rank 0 posted all-reduce of \"all\" to stream 1, whose traffic does not list this operation; add it there");
  }
}

TEST_SUITE("Do collectives go over any communicator, in every fidelity?") {
  TEST_CASE("several streams: pairs of ranks for themselves, then everybody") {
    for (const Fidelity fidelity : all_fidelities) {
      CAPTURE(to_string(fidelity));
      Trial trial(star(4, 1.0, 0.0));
      trial.job.streams = {{.groups = {Communicator(4)}}, {.groups = {Communicator(2, 0), Communicator(std::vector<int>{3, 2})}}};
      trial.job.program = [](Worker& worker) {
        while (worker.next_step()) {
          worker.forward();
          worker.backward();
          const double bytes = worker.rank() < 2 ? 3.0 : 5.0;
          worker.collectives().wait(worker.collectives().post(payload("pair", bytes), worker.step(), {.stream = 1}));
          worker.collectives().wait(worker.collectives().post(payload("all", 4), worker.step()));
        }
      };
      // 1 s of compute, 5 s in the slower pair, 2 x 3/4 x 4 s for all.
      CHECK(trial.iteration(fidelity) == doctest::Approx(12.0).epsilon(1e-9));
    }
  }

  TEST_CASE("a ring's all-reduce is its reduce-scatter and then its all-gather; a broadcast goes along the chain") {
    std::mt19937 random(5);
    const auto between = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
    for (int i = 0; i < 40; ++i) {
      const int nodes = std::uniform_int_distribution<int>(2, 9)(random);
      Cluster cluster = star(nodes, between(1e6, 1e9), between(0, 1e-3));
      cluster.gpus_per_node = i % 3 + 1;
      cluster.reduce = SecondsPerByte(i % 2 == 0 ? 0.0 : between(0, 1e-8));
      const int gpus = cluster.gpus_per_node;
      // Everybody, or the first GPUs of all nodes, or the GPUs of all nodes but the first in another order.
      std::vector<int> others;
      for (int node = nodes - 1; node >= 1; --node) {
        for (int gpu = 0; gpu < gpus; ++gpu) others.push_back(node * gpus + gpu);
      }
      const std::array communicators = {Communicator(nodes * gpus), Communicator(nodes, 0, gpus), Communicator(others)};
      const Communicator& communicator = communicators[static_cast<std::size_t>(i) % communicators.size()];
      const double bytes = std::floor(between(1e3, 1e7));
      for (const Fidelity fidelity : all_fidelities) {
        const auto time = [&](const std::vector<Operation>& operations) {
          Trial trial(cluster);
          trial.job.streams = {{.groups = {communicator}}};
          trial.job.program = [=](Worker& worker) {
            while (worker.next_step()) {
              worker.forward();
              worker.backward();
              if (communicator.member(worker.rank()) < 0) continue;
              for (const Operation operation : operations) {
                worker.collectives().wait(worker.collectives().post(payload("vector", bytes), worker.step(), {.operation = operation}));
              }
            }
          };
          const auto first = [count = operations.size()](const JobTimeline& timeline) {
            return fmt::format("{}", (timeline.collectives[count - 1].end - timeline.collectives[0].start).value);
          };
          return std::stod(trial.run(fidelity, first));
        };
        CAPTURE(to_string(fidelity));
        CAPTURE(i);
        const double all_reduce = time({Operation::all_reduce});
        CHECK(time({Operation::reduce_scatter, Operation::all_gather}) == doctest::Approx(all_reduce).epsilon(1e-12));
        const CollectiveCosts costs(cluster, default_all_reduce(), communicator, gpus, {});
        for (const Operation operation : {Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather, Operation::broadcast}) {
          CHECK(time({operation}) == doctest::Approx(costs(operation, Bytes(bytes)).total().value).epsilon(1e-11));
        }
      }
    }
  }

  TEST_CASE("a group of one rank is that rank's, and nobody else's") {
    Trial trial(star(3, 1.0, 0.0));
    trial.job.streams = {{.groups = {Communicator(1, 1)}}};
    trial.job.program = [](Worker& worker) {
      while (worker.next_step()) {
        worker.forward();
        worker.backward();
        if (worker.rank() == 1) worker.collectives().wait(worker.collectives().post(payload("alone", 8), worker.step()));
      }
    };
    for (const Fidelity fidelity : all_fidelities) CHECK(trial.iteration(fidelity) == doctest::Approx(1.0));
    trial.job.program = [](Worker& worker) {
      while (worker.next_step()) {
        worker.forward();
        worker.collectives().wait(worker.collectives().post(payload("alone", 8), worker.step()));
      }
    };
    CHECK(trial.run(Fidelity::alpha_beta, [](const JobTimeline&) { return std::string("a number"); }) ==
          "error: rank 0 is not a member of the communicator of stream 0");
  }

  TEST_CASE("a program that asks a peer needs a job that says so") {
    Trial trial(two_nodes());
    trial.job.sends_more = true;
    trial.job.program = [](Worker& worker) {
      while (worker.next_step()) {
        worker.forward();
        worker.peers().exchange(payload("a question", 4), 1 - worker.rank(), worker.step());
      }
    };
    CHECK(trial.run(Fidelity::alpha_beta, [](const JobTimeline&) { return std::string("a number"); }) ==
          "error: a program asked a peer, but its job does not say so; set asks_peers");
  }

  TEST_CASE("two streams share their links as flows, and beside messages to peers nothing is taken for known") {
    Trial trial(two_nodes());
    trial.job.streams = {{.groups = {Communicator(2)}}, {.groups = {Communicator(2)}}};
    trial.job.program = [](Worker& worker) {
      while (worker.next_step()) {
        worker.forward();
        worker.backward();
        const std::array both = {worker.collectives().post(payload("a", 3), worker.step()),
                                 worker.collectives().post(payload("b", 3), worker.step(), {.stream = 1})};
        worker.collectives().wait(both);
      }
    };
    CHECK(trial.iteration(Fidelity::flow) == doctest::Approx(7.0).epsilon(1e-9));
    trial.job.streams.pop_back();
    trial.job.sends_more = true;
    trial.job.message = [](int, int, Bytes bytes) { return CollectiveTime{Seconds(0), Seconds(bytes.value)}; };
    trial.job.program = [](Worker& worker) {
      while (worker.next_step()) {
        worker.forward();
        worker.backward();
        worker.peers().send(payload("to the other", 4), 1 - worker.rank(), worker.step());
        worker.collectives().wait(worker.collectives().post(payload("all", 4), worker.step()));
        worker.peers().receive(worker.step());
      }
    };
    CHECK(trial.iteration(Fidelity::flow) == doctest::Approx(9.0).epsilon(1e-9));
  }

  TEST_CASE("a communicator with unequal shares of its nodes has no algorithm, and says so") {
    Cluster cluster = star(3, 1.0, 0.0);
    cluster.gpus_per_node = 2;
    Trial trial(cluster);
    trial.job.streams = {{.groups = {Communicator(std::vector<int>{0, 1, 2})}}};
    trial.job.program = [](Worker& worker) {
      while (worker.next_step()) {
        worker.forward();
        if (worker.rank() < 3) worker.collectives().wait(worker.collectives().post(payload("all", 1), worker.step()));
      }
    };
    for (const Fidelity fidelity : all_fidelities) {
      CHECK(trial.run(fidelity, [](const JobTimeline&) { return std::string("a number"); }) ==
            "error: a communicator has 2 ranks on node 0 and 1 on node 1; it needs the same number on each of its nodes");
    }
  }
}

TEST_SUITE("Are passes as long layer by layer as at once?") {
  /// Layers of several lengths, one of no time.
  Trial layered() {
    Trial trial(two_nodes());
    trial.job.profile.layers = {{"a", Seconds(0.3), Seconds(0.2)}, {"b", Seconds(0), Seconds(0)}, {"c", Seconds(0.7), Seconds(1.1)}};
    trial.job.profile.gradients = {{"c", Bytes(300), Seconds(1.1), 2}, {"a", Bytes(100), Seconds(1.3), 0}};
    trial.job.profile.forward = Seconds(1.0);
    trial.job.profile.backward = Seconds(1.3);
    trial.job.profile.update = Seconds(0.4);
    return trial;
  }

  void by_layers(Worker & worker) {
    while (worker.next_step()) {
      for (const std::size_t layer : {0U, 1U, 2U}) worker.forward(layer);
      for (const std::size_t layer : {2U, 1U, 0U}) worker.backward(layer);
      for (const std::size_t layer : {0U, 2U}) worker.update(layer);
      worker.update();
    }
  }

  void at_once(Worker & worker) {
    while (worker.next_step()) {
      worker.forward();
      worker.backward();
      worker.update();
    }
  }

  TEST_CASE("undisturbed, with jitter, pauses and slow workers") {
    for (const bool disturbed : {false, true}) {
      Trial trial = layered();
      if (disturbed) {
        trial.job.speed.jitter = {Jitter::Distribution::uniform, 0.4, {}};
        trial.job.speed.slow = {1.0, 1.7};
        trial.job.speed.pauses = {{0, Seconds(2.5), Seconds(3.25)}, {1, Seconds(7.0), Seconds(7.5)}};
      }
      trial.job.program = by_layers;
      const double layers = trial.iteration(Fidelity::alpha_beta);
      trial.job.program = at_once;
      CHECK(layers == doctest::Approx(trial.iteration(Fidelity::alpha_beta)).epsilon(1e-14));
      if (!disturbed) CHECK(layers == doctest::Approx(2.7));
    }
  }

  TEST_CASE("what comes between two layers puts off the rest, and nothing is done twice") {
    Trial trial = layered();
    trial.job.program = [](Worker& worker) {
      while (worker.next_step()) {
        worker.forward(0);
        worker.spend(Seconds(0.25));
        worker.forward();
        worker.backward_until(Seconds(0.5));
        worker.collectives().wait(worker.collectives().post(payload("early", 2), worker.step()));
        worker.update(2);  // three quarters of the bytes, 0.3 s
        worker.backward(2);
        worker.backward();
        worker.update();
      }
    };
    CHECK(trial.iteration(Fidelity::alpha_beta) == doctest::Approx(2.7 + 0.25 + 2.0));
  }

  TEST_CASE("out of order") {
    const auto error_of = [](Program program) {
      Trial trial = layered();
      trial.job.program = std::move(program);
      return trial.run(Fidelity::alpha_beta, [](const JobTimeline&) { return std::string("a number"); });
    };
    CHECK(error_of([](Worker& worker) {
            while (worker.next_step()) worker.backward(0);
          }) == "error: rank 0 asked for backward of layer 0 where layer 2 is next");
    CHECK(error_of([](Worker& worker) {
            while (worker.next_step()) {
              worker.forward();
              worker.forward(2);
            }
          }) == "error: rank 0 asked for forward of layer 2 where no layer is next");
    CHECK(error_of([](Worker& worker) {
            while (worker.next_step()) {
              worker.update(0);
              worker.update(0);
            }
          }) == "error: rank 0 asked for the update of layer 0 in step 0, which was made already or does not exist");
  }
}
