#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/processes.hpp"
#include "engine/clock/actors.hpp"
#include "engine/simulate.hpp"
#include "metrics/metrics.hpp"

using namespace syncopate;

namespace {

/// Forward 1 s, backward 2 s, one gradient; an all-reduce takes 0.5 s.
Job small_job(int ranks, Program program) {
  Job job;
  job.program = std::move(program);
  job.profile.layers = {{"a", Seconds(0.4), Seconds(1.5)}, {"b", Seconds(0.6), Seconds(0.5)}};
  job.profile.gradients = {{"b.weight", Bytes(100), Seconds(0.5), 1}, {"a.weight", Bytes(300), Seconds(2), 0}};
  job.profile.forward = Seconds(1);
  job.profile.backward = Seconds(2);
  job.model = AlphaBeta{[](Operation, const Communicator&, Bytes, bool) { return CollectiveTime{Seconds(0.5), Seconds(0)}; }};
  job.streams = {{.groups = {Communicator(ranks)}}};
  job.ranks = ranks;
  job.warmup = 1;
  job.measured = 4;
  return job;
}

SharedPayload payload(const std::string& label, int tensor, double bytes) {
  return std::make_shared<Payload>(Payload{label, {{tensor, Bytes(bytes)}}, Bytes(bytes)});
}

Cluster star(int nodes) {
  Cluster cluster;
  cluster.name = "star";
  cluster.nodes = nodes;
  cluster.link = {Rate(1e9), Seconds(1e-5)};
  cluster.topology = default_topology();
  return cluster;
}

/// Simulates in a process of its own; `look` turns the timelines into text there.
std::string simulate_apart(const std::vector<Job>& jobs, const std::function<std::string(const Timeline&)>& look) {
  std::string result;
  int nodes = 0;
  for (const Job& job : jobs) nodes += job.ranks;
  actors();  // loaded once, for all processes
  run_forked(
      1, 1,
      [&](int) {
        const Cluster cluster = star(nodes);
        Network network(cluster, 1, {}, {});
        return look(simulate(jobs, network));
      },
      [&](int, const Outcome& outcome) {
        result = outcome.ok ? outcome.result : "error: " + outcome.error;
        CHECK((outcome.ok || outcome.code == ExitCode::simulation_failed));
      });
  return result;
}

std::string iteration_time(const Job& job) {
  return simulate_apart({job}, [](const Timeline& timeline) { return std::to_string(measure(timeline.front(), 1).iteration.value); });
}

const SharedPayload first = payload("b.weight", 0, 100);
const SharedPayload second = payload("a.weight", 1, 300);

void all_reduce_after_backward(Worker& worker) {
  while (worker.next_step()) {
    worker.forward();
    worker.backward();
    worker.collectives().wait(worker.collectives().post(second, worker.step()));
  }
}

/// Of two ranks, whose all-reduce takes 7 s.
Job slow_job() {
  Job job = small_job(2, all_reduce_after_backward);
  job.model = AlphaBeta{[](Operation, const Communicator&, Bytes, bool) { return CollectiveTime{Seconds(7), Seconds(0)}; }};
  return job;
}

}  // namespace

TEST_SUITE("Does the engine run a program as sequential text says?") {
  TEST_CASE("compute alone") {
    const Program program = [](Worker& worker) {
      while (worker.next_step()) {
        worker.forward();
        worker.backward();
      }
    };
    CHECK(iteration_time(small_job(1, program)) == "3.000000");
  }

  TEST_CASE("a blocking all-reduce after backward") { CHECK(iteration_time(small_job(4, all_reduce_after_backward)) == "3.500000"); }

  TEST_CASE("collectives queue on a stream, and forward can go layer by layer") {
    const Program program = [](Worker& worker) {
      while (worker.next_step()) {
        worker.forward(0);
        worker.forward(1);
        worker.backward();
        const std::vector<Handle> handles = {worker.collectives().post(first, worker.step()),
                                             worker.collectives().post(second, worker.step())};
        worker.collectives().wait(handles);
      }
    };
    CHECK(iteration_time(small_job(3, program)) == "4.000000");
  }

  TEST_CASE("a priority overtakes what waits for the channel, not what already moves") {
    const SharedPayload third = payload("urgent", 0, 1);
    const Program program = [third](Worker& worker) {
      while (worker.next_step()) {
        worker.forward();
        worker.backward_until(Seconds(1.8));
        const Handle moving = worker.collectives().post(first, worker.step());
        worker.backward();
        const Handle ordinary = worker.collectives().post(second, worker.step());
        const Handle urgent = worker.collectives().post(third, worker.step(), {.priority = -1.0});
        worker.collectives().wait(moving);
        worker.collectives().wait(urgent);
        worker.collectives().wait(ordinary);
      }
    };
    Job job = small_job(2, program);
    job.streams.front().rules.by_priority = true;
    const std::string order = simulate_apart({job}, [](const Timeline& timeline) {
      std::string labels;
      for (std::size_t i = 0; i < 3; ++i) labels += timeline.front().collectives[i].payload->label + ' ';
      return labels;
    });
    CHECK(order == "b.weight urgent a.weight ");
  }

  TEST_CASE("a blocked worker is shown as blocked, and every second of a worker is accounted for") {
    const Program program = [](Worker& worker) {
      while (worker.next_step()) {
        worker.forward();
        worker.backward();
        worker.collectives().wait(worker.collectives().post(second, worker.step()));
        worker.update();
      }
    };
    Job job = small_job(2, program);
    job.profile.update = Seconds(0.25);
    job.speed.slow = {1.0, 2.0};
    const std::string text = simulate_apart({job}, [](const Timeline& timeline) {
      std::string problems;
      Seconds blocked;
      for (int worker = 0; worker < 2; ++worker) {
        Seconds at;
        for (const Span& span : timeline.front().spans[static_cast<std::size_t>(worker)]) {
          if (span.start != at) problems += "gap ";
          at = span.end;
          if (worker == 0 && span.step == 2 && span.phase == Phase::blocked) blocked += span.end - span.start;
        }
      }
      return problems + std::to_string(blocked.value);
    });
    // Rank 1 computes for 6 s and updates for 0.5 s; rank 0 starts 0.25 s earlier, computes 3 s, and blocks until 6.5 + 0.25 s.
    CHECK(text == "3.750000");
  }

  TEST_CASE("a wait in the middle of backward puts off the rest of it") {
    const Program program = [](Worker& worker) {
      while (worker.next_step()) {
        worker.forward();
        worker.backward_until(Seconds(0.5));
        worker.collectives().wait(worker.collectives().post(first, worker.step()));
        worker.backward();
      }
    };
    const std::string text = simulate_apart({small_job(2, program)}, [](const Timeline& timeline) {
      const Metrics metrics = measure(timeline.front(), 1);
      return fmt::format("{:.9g} {:.9g} {:.9g}", metrics.iteration.value, metrics.exposed_communication.value, metrics.wait.value);
    });
    CHECK(text == "3.5 0.5 0");
  }

  TEST_CASE("adding workers does not change what the others draw") {
    const Program program = [](Worker& worker) {
      while (worker.next_step()) {
        worker.forward();
        worker.backward();
      }
    };
    const auto first_steps = [&](int ranks) {
      Job job = small_job(ranks, program);
      job.speed.jitter = {Jitter::Distribution::lognormal, 0.3, {}};
      job.speed.seed = 5;
      return simulate_apart({job}, [](const Timeline& timeline) {
        std::string text;
        for (std::size_t rank = 0; rank < 4; ++rank) {
          for (std::size_t step = 0; step < 3; ++step) text += std::to_string(timeline.front().steps[rank][step].end.value) + ' ';
        }
        return text;
      });
    };
    CHECK(first_steps(4) == first_steps(9));
  }

  TEST_CASE("forward out of order is refused") {
    const Program program = [](Worker& worker) {
      while (worker.next_step()) worker.forward(1);
    };
    CHECK(simulate_apart({small_job(1, program)}, [](const Timeline&) { return std::string(); }) ==
          "error: rank 0 asked for forward of layer 1 where layer 0 is next");
  }

  TEST_CASE("two jobs share the clock and nothing else") {
    Job slow = slow_job();
    const std::string text = simulate_apart({small_job(3, all_reduce_after_backward), slow}, [](const Timeline& timeline) {
      return std::to_string(measure(timeline[0], 1).iteration.value) + ' ' + std::to_string(measure(timeline[1], 1).iteration.value);
    });
    CHECK(text == "3.500000 10.000000");
  }

  TEST_CASE("two jobs are measured while both train") {
    Job slow = slow_job();
    slow.start = Seconds(2);
    Job fast = small_job(3, all_reduce_after_backward);
    const auto windows = [](const Timeline& timeline) {
      std::string text;
      for (const JobTimeline& job : timeline) {
        text += fmt::format("{} {} {} ", job.window.open.value, job.window.close.value, measure(job, 1).iteration.value);
      }
      return text;
    };
    // The slow one is warm at 2 + 10 s, and has done four more iterations 40 s later; the fast one begins one every 3.5 s.
    CHECK(simulate_apart({fast, slow}, windows) == "14 52.5 3.5 12 52 10 ");
    fast.cycle = 4;  // of which its window is a multiple
    CHECK(simulate_apart({fast, slow}, windows) == "14 56 3.5 12 52 10 ");
  }
}

TEST_SUITE("Is a program that misbehaves an error with a diagnosis, never a number?") {
  const auto nothing = [](const Timeline&) { return std::string("a number"); };

  TEST_CASE("rank 0 posts one collective too many") {
    const Program program = [](Worker& worker) {
      while (worker.next_step()) {
        worker.forward();
        worker.backward();
        worker.collectives().wait(worker.collectives().post(second, worker.step()));
        if (worker.rank() == 0 && worker.step() == 1) worker.collectives().wait(worker.collectives().post(first, worker.step()));
      }
    };
    CHECK(
        simulate_apart({small_job(4, program)}, nothing) ==
        "error: ranks disagree on collective 2 of stream 0: rank 0 posted all-reduce of \"b.weight\" in round 1, rank 1 posted all-reduce "
        "of \"a.weight\" in round 2; every rank must post the same collectives in the same order");
  }

  TEST_CASE("rank 2 ends early") {
    const Program program = [](Worker& worker) {
      while (worker.next_step()) {
        worker.forward();
        worker.backward();
        worker.collectives().wait(worker.collectives().post(second, worker.step()));
        if (worker.rank() == 2 && worker.step() == 2) return;
      }
    };
    CHECK(simulate_apart({small_job(4, program)}, nothing) ==
          "error: rank 2 ended its program in step 2, at 10.5 s, before the measured window had closed; a program must run until "
          "next_step() returns false");
  }

  TEST_CASE("rank 3 never posts and runs on") {
    const Program program = [](Worker& worker) {
      while (worker.next_step()) {
        worker.forward();
        worker.backward();
        if (worker.rank() != 3) worker.collectives().wait(worker.collectives().post(second, worker.step()));
      }
    };
    CHECK(simulate_apart({small_job(4, program)}, nothing) ==
          "error: no progress: rank 3 made 6 steps without a post: all-reduce 0 of stream 0 (\"a.weight\", 300 B, round 0) is awaited by "
          "ranks "
          "0-2, posted by ranks 0-2, not posted by rank 3");
  }

  TEST_CASE("more gradient steps than are allowed end the simulation") {
    const Program program = [](Worker& worker) {
      while (worker.next_step()) {
        worker.forward();
        worker.backward();
      }
    };
    Job job = small_job(3, program);
    job.most_steps = 14;
    CHECK(simulate_apart({job}, nothing).starts_with("error: over 14 gradient steps of workers were simulated, the limit, though fewer"));
    job.most_steps = 18;
    CHECK(!simulate_apart({job}, nothing).starts_with("error"));
  }

  TEST_CASE("ranks that wait for each other deadlock") {
    const Program program = [](Worker& worker) {
      while (worker.next_step()) {
        worker.forward();
        worker.backward();
        const Handle handle = worker.collectives().post(second, worker.step());
        if (worker.rank() == 0) worker.collectives().wait(Handle{0, handle.ticket + 1});
        worker.collectives().wait(handle);
      }
    };
    const std::string text = simulate_apart({small_job(3, program)}, nothing);
    CHECK(text == "error: rank 0 waits for collective 1 of stream 0, which it has not posted");
  }

  TEST_CASE("a rank that stops for ever leaves the others in a deadlock that names them all") {
    const Program program = [](Worker& worker) {
      while (worker.next_step()) {
        worker.forward();
        worker.backward();
        if (worker.rank() == 1 && worker.step() == 2) actors().suspend();
        worker.collectives().wait(worker.collectives().post(second, worker.step()));
      }
    };
    CHECK(
        simulate_apart({small_job(3, program)}, nothing) ==
        "error: deadlock at 7 s: all-reduce 2 of stream 0 (\"a.weight\", 300 B, round 2) is awaited by ranks 0,2, posted by ranks 0,2, not "
        "posted by rank 1");
  }

  TEST_CASE("a program's own exception is the point's error") {
    const Program program = [](Worker& worker) {
      while (worker.next_step()) {
        worker.forward();
        if (worker.step() == 1) throw SimulationError("the program's own words");
      }
    };
    CHECK(simulate_apart({small_job(2, program)}, nothing) == "error: the program's own words");
  }

  TEST_CASE("steps that take no time") {
    const Program program = [](Worker& worker) {
      while (worker.next_step()) {
      }
    };
    CHECK(simulate_apart({small_job(2, program)}, nothing) == "error: rank 0 made 6 steps in 0 s, at 0 s: a step must take some time");
  }
}
