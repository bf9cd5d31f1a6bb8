#include <doctest/doctest.h>

#include <memory>

#include "timeline/recorder.hpp"

using namespace syncopate;

TEST_SUITE("Does a recorder keep what is shown, and when anything moves?") {
  // Two workers, of which worker 1 is shown, with steps of 1 s. The window opens after two of them.
  TEST_CASE("layers and transfers are kept until the last shown iteration has ended, channels to the end") {
    const auto time = std::make_shared<ShownTime>(std::vector{1}, ShownTime::Iterations{1, 2});
    Recorder recorder(2, {1}, Seconds(1), true);
    recorder.show(time);
    const auto payload = std::make_shared<Payload>();
    payload->bytes = Bytes(8);
    std::vector<bool> shows;
    constexpr int steps = 8;
    for (int step = 0; step < steps; ++step) {
      const Seconds start(step);
      if (step == 2) recorder.open_window(start);
      for (const int worker : {1, 0}) {
        recorder.begin_step(worker, start);
        recorder.layer({start, start + Seconds(0.5), worker, step});
        // It outlasts the step.
        recorder.transfer(worker, TransferSpan::Kind::push, step, {start + Seconds(0.5), start + Seconds(1.25)}, payload);
      }
      shows.push_back(time->is_now());
    }
    recorder.close_window(Seconds(6));
    for (int worker = 0; worker < 2; ++worker) recorder.begin_step(worker, Seconds(steps));
    CHECK(shows == std::vector{false, false, false, true, true, false, false, false});
    CHECK_FALSE(time->is_over_by(Seconds(4.5)));
    CHECK(time->is_over_by(Seconds(5)));
    const JobTimeline timeline = recorder.take(2, true, {}, {});
    REQUIRE(timeline.layers.size() == 5);
    CHECK(timeline.layers.back().start == Seconds(4));
    REQUIRE(timeline.transfers.size() == 5);
    CHECK(timeline.transfers.back().end == Seconds(5.25));
    CHECK(timeline.messages.size() == 2 * 5);
    for (const std::vector<Interval>& channel : timeline.channels) CHECK(channel.back().end == Seconds(steps + 0.25));
  }

  // Where workers wait in their last steps counts, which may end after the window.
  TEST_CASE("channels and servers are known after the window has closed") {
    Recorder recorder(1, {}, Seconds(1), false);
    const auto payload = std::make_shared<Payload>();
    payload->bytes = Bytes(8);
    recorder.open_window(Seconds(0));
    recorder.begin_step(0, Seconds(0));
    recorder.close_window(Seconds(1));
    recorder.transfer(0, TransferSpan::Kind::push, 0, {Seconds(2), Seconds(3)}, payload);
    recorder.serve({Seconds(3), Seconds(4)});
    recorder.begin_step(0, Seconds(5));
    const JobTimeline timeline = recorder.take(1, true, {}, {});
    REQUIRE(timeline.channels.front().size() == 1);
    CHECK(timeline.channels.front().front().end == Seconds(3));
    REQUIRE(timeline.server_work.size() == 1);
    CHECK(timeline.server_traffic.front().pushed == Bytes(0));
  }
}
