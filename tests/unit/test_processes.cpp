#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <map>

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
