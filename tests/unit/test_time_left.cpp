#include <doctest/doctest.h>

#include "run/cost.hpp"

using namespace syncopate;

TEST_SUITE("How long do points take that are not done yet?") {
  const std::vector<RunningTask> nothing;

  TEST_CASE("by their costs, before anything has come anywhere") {
    const TimeLeft left({Seconds(10), Seconds(20)}, 1);
    CHECK(left(Seconds(0), nothing) == Seconds(30));
    CHECK(left(Seconds(12), nothing) == Seconds(18));
    CHECK(left(Seconds(40), nothing) == Seconds(0));
    CHECK(TimeLeft({Seconds(10), Seconds(20)}, 2)(Seconds(0), nothing) == Seconds(15));
    CHECK(TimeLeft({Seconds(10), Seconds(20)}, 8)(Seconds(0), nothing) == Seconds(15));
  }

  TEST_CASE("by the pace so far, whatever the costs were thought to be") {
    TimeLeft left({Seconds(1), Seconds(2), Seconds(1)}, 2);
    left.finish(0);
    CHECK(left(Seconds(100), nothing) == Seconds(300));
    CHECK(left(Seconds(100), {{.index = 1, .time = Seconds(50), .headway = {5, 10}}}) == Seconds(100));
    CHECK(left(Seconds(100), {{.index = 1, .time = Seconds(50), .headway = {}}}) == Seconds(300));
    left.finish(1);
    left.finish(2);
    CHECK(left(Seconds(100), nothing) == Seconds(0));
  }
}
