#include <doctest/doctest.h>

#include <string>

#include "engine/clock/clock.hpp"
#include "engine/clock/moment.hpp"

using namespace syncopate;

namespace {

Why transfer_over(int link) { return {.kind = PathClass::transfer, .link = link}; }

}  // namespace

TEST_SUITE("Do moments know what they are the sum of?") {
  TEST_CASE("stretches back to where the path begins, the first one cut") {
    const Moment begin = Moment::origin();
    const Moment moved = after(begin, Seconds(2), transfer_over(0));
    const Moment waited = after(moved, Seconds(3), {.kind = PathClass::latency, .link = 0, .usual = Seconds(2.5)});
    CHECK(waited.time == Seconds(5));
    const std::vector<PathPiece> path = trace_back(waited, Seconds(0.5));
    REQUIRE(path.size() == 3);
    CHECK(path[0].kind == PathClass::transfer);
    CHECK(path[0].length == Seconds(1.5));
    CHECK(path[1].kind == PathClass::latency);
    CHECK(path[1].length == Seconds(2.5));
    CHECK(path[2].kind == PathClass::jitter);
    CHECK(path[2].length == Seconds(0.5));
  }

  TEST_CASE("the path goes over the latest, and over the first of equals") {
    const Moment begin = Moment::origin();
    const Moment early = after(begin, Seconds(1), transfer_over(0));
    const Moment late = after(begin, Seconds(2), transfer_over(1));
    const Moment as_late = after(begin, Seconds(2), transfer_over(2));
    CHECK(trace_back(latest(early, late), Seconds(0)).front().link == 1);
    CHECK(trace_back(latest(as_late, late), Seconds(0)).front().link == 2);
    Moments both(2);
    Moments others(2);
    both.set(0, early);
    both.set(1, as_late);
    others.set(0, late);
    others.set(1, late);
    Moments first;
    first.assign_latest(both, others);
    CHECK(trace_back(first[0], Seconds(0)).front().link == 1);
    CHECK(trace_back(first[1], Seconds(0)).front().link == 2);
  }

  TEST_CASE("pieces of one payload that are alike are one") {
    const SharedPayload shared = std::make_shared<const Payload>();
    Moment now = Moment::origin();
    for (int i = 0; i < 3; ++i) {
      now = after(now, Seconds(1), {.kind = PathClass::transfer, .link = 0, .payload = &shared});
      now = after(now, Seconds(2), {.kind = PathClass::latency, .link = 0, .payload = &shared});
    }
    const std::vector<PathPiece> path = trace_back(now, Seconds(0));
    REQUIRE(path.size() == 2);
    CHECK(path[0].length + path[1].length == Seconds(9));
  }

  TEST_CASE("without a cause nothing is recorded") {
    const Moment now = after(Moment(Seconds(1)), Seconds(2), transfer_over(0));
    CHECK(now.time == Seconds(3));
    CHECK(!now.cause);
    CHECK_THROWS_AS(trace_back(now, Seconds(0)), std::logic_error);
  }

  TEST_CASE("a chain may be longer than a stack is deep, and goes with its last event") {
    Moment now = Moment::origin();
    for (int i = 0; i < 1'000'000; ++i) now = after(now, Seconds(1), transfer_over(0));
    CHECK(now.time == Seconds(1e6));
    now = Moment();
    CHECK(!now.cause);
  }

  TEST_CASE("a stretch whose pieces do not add up is an error, not a figure") {
    const auto pieces = std::make_shared<const std::vector<PathPiece>>(1, PathPiece{.length = Seconds(1)});
    const Moment begin = Moment::origin();
    CHECK(trace_back(ended_as_before(begin, Seconds(1), pieces, nullptr), Seconds(0)).size() == 1);
    CHECK_THROWS_AS(trace_back(ended_as_before(begin, Seconds(2), pieces, nullptr), Seconds(0)), std::logic_error);
  }
}

TEST_SUITE("In which order do the events of a clock happen?") {
  TEST_CASE("those of one instant as they were asked for, those after it when all of them have happened") {
    Clock clock(nullptr);
    std::string order;
    bool is_over = false;
    const auto adds = [&order](char letter) { return [&order, letter] { order += letter; }; };
    clock.at(Seconds(2), [&] { is_over = true; });
    clock.after(Seconds(1), adds('e'));
    clock.at(Seconds(1), adds('a'));
    clock.at(Seconds(1), [&] {
      order += 'b';
      clock.at(Seconds(1), adds('d'));
    });
    clock.at(Seconds(1), adds('c'));
    clock.run_until(is_over);
    CHECK(order == "abcde");
  }
}
