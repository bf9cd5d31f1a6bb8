#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <map>
#include <thread>

#include "base/processes.hpp"

using namespace syncopate;

TEST_SUITE("Does each task run alone, and does its failure stay its own?") {
  TEST_CASE("results, errors and crashes") {
    const std::string large(3'000'000, 'x');
    std::map<int, Outcome> outcomes;
    run_forked(
        6, 2,
        [&](int index) -> std::string {
          if (index == 1) throw InputError("bad");
          if (index == 2) throw std::runtime_error("odd");
          if (index == 3) raise(SIGKILL);
          if (index == 4) _exit(7);
          return index == 5 ? large : "fine";
        },
        [&](int index, const Outcome& outcome) { outcomes[index] = outcome; });
    REQUIRE(outcomes.size() == 6);
    CHECK((outcomes[0].ok && outcomes[0].result == "fine"));
    CHECK((!outcomes[1].ok && outcomes[1].error == "bad" && outcomes[1].code == ExitCode::bad_input));
    CHECK((!outcomes[2].ok && outcomes[2].error == "odd" && outcomes[2].code == ExitCode::simulation_failed));
    CHECK(outcomes[3].error == "its process was killed by signal 9 (Killed) (out of memory?)");
    CHECK(outcomes[4].error == "its process ended with status 7 and no result");
    CHECK(outcomes[5].result == large);
  }

  TEST_CASE("tasks that share processes: each has its outcome, whatever happens to the others") {
    const int count = 500;
    std::map<int, Outcome> outcomes;
    std::map<std::string, int> processes;
    run_forked(
        count, 3,
        [](int index) -> std::string {
          if (index % 50 == 7) throw InputError("bad");
          if (index % 50 == 8) raise(SIGKILL);
          if (index % 50 == 9) _exit(0);
          return std::to_string(getpid());
        },
        [&](int index, const Outcome& outcome) {
          CHECK(!outcomes.contains(index));
          outcomes[index] = outcome;
        },
        {}, [] { return true; });
    REQUIRE(outcomes.size() == count);
    for (const auto& [index, outcome] : outcomes) {
      if (outcome.ok) ++processes[outcome.result];
      const int kind = index % 50;
      CHECK(outcome.ok == (kind < 7 || kind > 9));
      if (kind == 7) CHECK((outcome.error == "bad" && outcome.code == ExitCode::bad_input));
      if (kind == 8) CHECK(outcome.error == "its process was killed by signal 9 (Killed) (out of memory?)");
      if (kind == 9) CHECK(outcome.error == "its process ended with status 0 and no result");
    }
    CHECK(processes.size() < count / 4);
    CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
  }

  TEST_CASE("who must not go on in a process does not") {
    bool used = false;
    std::map<int, Outcome> outcomes;
    run_forked(
        40, 2,
        [&](int index) {
          const bool before = used;
          used = used || index % 3 == 0;
          return std::string(before ? "after use" : "fresh");
        },
        [&](int index, const Outcome& outcome) { outcomes[index] = outcome; }, {}, [&] { return !used; });
    REQUIRE(outcomes.size() == 40);
    for (const auto& [index, outcome] : outcomes) CHECK(outcome.result == "fresh");
  }

  TEST_CASE("a task that takes too long is ended, says how far it came, and takes none of its process with it") {
    std::map<int, Outcome> outcomes;
    std::map<int, int> seen;  // by task, the steps that it had done last
    const Watch watch = {.look =
                             [&](const std::vector<RunningTask>& running) {
                               for (const RunningTask& task : running) seen[task.index] = task.headway.done;
                             },
                         .most_time = Seconds(0.6),
                         .overdue =
                             [](const RunningTask& task) {
                               CHECK(task.time > Seconds(0.6));
                               return std::to_string(task.headway.done) + "/" + std::to_string(task.headway.all);
                             }};
    run_forked(
        30, 2,
        [](int index) {
          tell_headway({index, 99});
          if (index % 10 == 4) sleep(100);
          return std::to_string(index);
        },
        [&](int index, const Outcome& outcome) {
          CHECK(!outcomes.contains(index));
          outcomes[index] = outcome;
        },
        {}, [] { return true; }, watch);
    REQUIRE(outcomes.size() == 30);
    for (const auto& [index, outcome] : outcomes) {
      CHECK(outcome.ok == (index % 10 != 4));
      if (!outcome.ok) CHECK((outcome.error == std::to_string(index) + "/99" && outcome.code == ExitCode::simulation_failed));
    }
    CHECK(seen == std::map<int, int>{{4, 4}, {14, 14}, {24, 24}});
    tell_headway({1, 2});  // here nobody hears it
  }

  TEST_CASE("a task that does nothing is told of once, and one that computes or gets on never") {
    std::map<int, int> stalled;
    const Watch watch = {.patience = Seconds(0.5), .stalled = [&](const RunningTask& task) {
                           ++stalled[task.index];
                           CHECK(task.process > 0);
                           if (task.index == 0) kill(task.process, SIGCONT);
                         }};
    const auto compute = [](std::chrono::milliseconds time) {
      const auto start = std::chrono::steady_clock::now();
      while (std::chrono::steady_clock::now() - start < time) {
      }
    };
    run_forked(
        3, 3,
        [&](int index) -> std::string {
          using std::chrono::milliseconds;
          if (index == 0) raise(SIGSTOP);
          if (index == 1) compute(milliseconds(1500));
          for (int done = 1; index == 2 && done <= 15; ++done) {
            tell_headway({done, 15});
            std::this_thread::sleep_for(milliseconds(100));
          }
          return "";
        },
        [](int, const Outcome& outcome) { CHECK(outcome.ok); }, {}, {}, watch);
    CHECK(stalled == std::map<int, int>{{0, 1}});
  }

  TEST_CASE("an interruption keeps what is done and kills the rest") {
    bool stop = false;
    int finished = 0;
    const auto start = std::chrono::steady_clock::now();
    run_forked(
        100, 2,
        [](int index) {
          if (index > 0) sleep(100);
          return std::string("done");
        },
        [&](int, const Outcome&) {
          ++finished;
          stop = true;
        },
        [&] { return stop; });
    CHECK(finished == 1);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(50));
    CHECK(waitpid(-1, nullptr, WNOHANG) == -1);  // no child is left, not even an unreaped one
  }
}
