#include <doctest/doctest.h>

#include "base/errors.hpp"
#include "collective/communicator.hpp"
#include "engine/streams/admission.hpp"

using namespace syncopate;

TEST_SUITE("Which collective does a stream admit?") {
  TEST_CASE("in the order of posting each lane goes on for itself") {
    Admission admission(2, {});
    CHECK_FALSE(admission.next(0));
    admission.post(0, 0.0, Bytes(1));
    admission.post(0, 0.0, Bytes(1));
    CHECK(admission.next(0) == Ticket{0});
    CHECK_FALSE(admission.next(1));
    admission.start(0);
    CHECK_FALSE(admission.next(0));
    admission.end(0, 0);
    CHECK(admission.next(0) == Ticket{1});
  }

  TEST_CASE("as many in flight as there are channels") {
    Admission admission(1, {.channels = 2});
    for (int i = 0; i < 3; ++i) admission.post(0, 0.0, Bytes(1));
    admission.start(0);
    CHECK(admission.next(0) == Ticket{1});
    admission.start(0);
    CHECK_FALSE(admission.next(0));
    admission.end(0, 0);
    CHECK(admission.next(0) == Ticket{2});
  }

  TEST_CASE("the least priority value among what all lanes have posted, ties by posting, for all lanes in the same order") {
    Admission admission(2, {.by_priority = true});
    for (const double priority : {3.0, 1.0, 1.0}) {
      admission.post(0, priority, Bytes(1));
      admission.post(1, priority, Bytes(1));
    }
    admission.post(0, 0.0, Bytes(1));  // lane 1 has not posted it yet
    for (const Ticket expected : {1U, 2U}) {
      for (const int lane : {0, 1}) {
        CHECK(admission.next(lane) == expected);
        admission.start(lane);
      }
      admission.end(0, expected);
      admission.end(1, expected);
    }
    admission.post(1, 0.0, Bytes(1));
    CHECK(admission.next(1) == Ticket{3});
    CHECK(admission.next(0) == Ticket{3});
  }

  TEST_CASE("where all that wait have the same priority, the first of them, whoever has posted it") {
    Admission admission(2, {.by_priority = true});
    admission.post(1, 5.0, Bytes(1));
    CHECK(admission.next(1) == Ticket{0});
    admission.start(1);
    admission.post(1, 4.0, Bytes(1));
    admission.post(1, 3.0, Bytes(1));
    admission.end(1, 0);
    CHECK_FALSE(admission.next(1));  // lane 0 has posted neither
    CHECK_FALSE(admission.next(0));
    for (const double priority : {5.0, 4.0, 3.0}) admission.post(0, priority, Bytes(1));
    CHECK(admission.next(0) == Ticket{0});  // what lane 1 has started
    admission.start(0);
    admission.end(0, 0);
    CHECK(admission.next(0) == Ticket{2});
    CHECK(admission.next(1) == Ticket{2});
  }
}

TEST_SUITE("Who is in a communicator?") {
  TEST_CASE("ranks at a distance, and any list of them") {
    const Communicator everybody(6);
    const Communicator every_other(3, 1, 2);
    const Communicator some(std::vector<int>{7, 2, 9});
    CHECK(every_other.rank(2) == 5);
    CHECK(every_other.member(3) == 1);
    CHECK(every_other.member(4) == -1);
    CHECK(every_other.member(7) == -1);
    CHECK(some.member(9) == 2);
    CHECK(some.member(8) == -1);
    CHECK(Communicator(std::vector<int>{1, 3, 5}) == every_other);
    CHECK(everybody != every_other);
  }

  TEST_CASE("nobody, or somebody twice") {
    CHECK_THROWS_WITH_AS(Communicator(0), "a communicator without a rank; leave the group out", SimulationError);
    CHECK_THROWS_WITH_AS(Communicator(std::vector<int>{4, 2, 4}), "a communicator has rank 4 twice; list every rank once", SimulationError);
  }

  TEST_CASE("on which nodes") {
    const NodeLayout layout = layout_on_nodes(Communicator(std::vector<int>{6, 7, 0, 1}), 2);
    CHECK(layout.nodes == std::vector<int>{3, 0});
    CHECK(layout.ranks_per_node == 2);
    CHECK(layout_on_nodes(Communicator(4, 0, 8), 8).ranks_per_node == 1);
    CHECK_THROWS_WITH_AS(layout_on_nodes(Communicator(3), 2),
                         "a communicator has 2 ranks on node 0 and 1 on node 1; it needs the same number on each of its nodes",
                         SimulationError);
    CHECK_THROWS_WITH_AS(layout_on_nodes(Communicator(std::vector<int>{0, 2, 1, 3}), 2),
                         "a communicator's ranks on node 0 do not follow each other; list them node by node", SimulationError);
  }

  TEST_CASE("a credit that must be left lets as many start as begin below it") {
    Admission admission(1, {.channels = unlimited, .by_priority = true, .credit = {Bytes(10)}});
    for (const double priority : {4.0, 3.0, 2.0, 1.0}) admission.post(0, priority, Bytes(4));
    for (const Ticket expected : {3U, 2U, 1U}) {
      CHECK(admission.next(0) == expected);
      admission.start(0);
    }
    CHECK_FALSE(admission.next(0));  // 12 of 10 are in flight
    admission.post(0, 0.0, Bytes(4));
    admission.end(0, 3);
    CHECK(admission.next(0) == Ticket{4});
  }

  TEST_CASE("a credit that must fit waits for the least") {
    Admission admission(1, {.channels = unlimited, .by_priority = true, .credit = {Bytes(10), true}});
    admission.post(0, 1.0, Bytes(6));
    admission.post(0, 2.0, Bytes(6));
    admission.post(0, 3.0, Bytes(1));
    CHECK(admission.next(0) == Ticket{0});
    admission.start(0);
    CHECK_FALSE(admission.next(0));  // nor does the last one overtake
    admission.post(0, 0.0, Bytes(4));
    CHECK(admission.next(0) == Ticket{3});  // nothing was decided
    admission.start(0);
    admission.end(0, 0);
    CHECK(admission.next(0) == Ticket{1});
  }
}
