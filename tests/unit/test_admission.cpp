#include <doctest/doctest.h>

#include "base/errors.hpp"
#include "collective/communicator.hpp"
#include "engine/admission.hpp"

using namespace syncopate;

TEST_SUITE("Which collective does a stream admit?") {
  TEST_CASE("in the order of posting each lane goes on for itself") {
    Admission admission(2, 1, false);
    CHECK_FALSE(admission.next(0));
    admission.post(0, 0.0);
    admission.post(0, 0.0);
    CHECK(admission.next(0) == Ticket{0});
    CHECK_FALSE(admission.next(1));
    admission.start(0);
    CHECK_FALSE(admission.next(0));
    admission.end(0);
    CHECK(admission.next(0) == Ticket{1});
  }

  TEST_CASE("as many in flight as there are channels") {
    Admission admission(1, 2, false);
    for (int i = 0; i < 3; ++i) admission.post(0, 0.0);
    admission.start(0);
    CHECK(admission.next(0) == Ticket{1});
    admission.start(0);
    CHECK_FALSE(admission.next(0));
    admission.end(0);
    CHECK(admission.next(0) == Ticket{2});
  }

  TEST_CASE("the least priority value among what all lanes have posted, ties by posting, for all lanes in the same order") {
    Admission admission(2, 1, true);
    for (const double priority : {3.0, 1.0, 1.0}) {
      admission.post(0, priority);
      admission.post(1, priority);
    }
    admission.post(0, 0.0);  // lane 1 has not posted it yet
    for (const Ticket expected : {1U, 2U}) {
      for (const int lane : {0, 1}) {
        CHECK(admission.next(lane) == expected);
        admission.start(lane);
      }
      admission.end(0);
      admission.end(1);
    }
    admission.post(1, 0.0);
    CHECK(admission.next(1) == Ticket{3});
    CHECK(admission.next(0) == Ticket{3});
  }

  TEST_CASE("where all that wait have the same priority, the first of them, whoever has posted it") {
    Admission admission(2, 1, true);
    admission.post(1, 5.0);
    CHECK(admission.next(1) == Ticket{0});
    admission.start(1);
    admission.post(1, 4.0);
    admission.post(1, 3.0);
    admission.end(1);
    CHECK_FALSE(admission.next(1));  // lane 0 has posted neither
    CHECK_FALSE(admission.next(0));
    for (const double priority : {5.0, 4.0, 3.0}) admission.post(0, priority);
    CHECK(admission.next(0) == Ticket{0});  // what lane 1 has started
    admission.start(0);
    admission.end(0);
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
                         "a communicator has 2 ranks on node 0 and 1 on node 1; it needs as many on each of its nodes", SimulationError);
    CHECK_THROWS_WITH_AS(layout_on_nodes(Communicator(std::vector<int>{0, 2, 1, 3}), 2),
                         "a communicator's ranks on node 0 do not follow each other; list them node by node", SimulationError);
  }
}
