#include <cstdlib>

#include "schedule/schedules.hpp"

// The table of schedules of a simctl that runs programs with mistakes in them.

namespace syncopate {

namespace {

SharedPayload everything(const ScheduleInput& input) {
  return std::make_shared<Payload>(Payload{"everything", {{0, input.profile.bytes()}}, input.profile.bytes()});
}

/// A schedule without parameters whose all-reduces go as they should, unless `make` says otherwise.
ScheduleRow row(std::string_view name, std::string_view meaning, std::function<Program(const ScheduleInput&)> make) {
  return {name, meaning, "", {}, [make = std::move(make)](Object&, const Cluster&) {
            return Schedule{.traffic = all_reduces(), .program = make};
          }};
}

/// A synchronous program with one mistake, made at the end of each step.
template <void (*mistake)(Worker&, const SharedPayload&)>
Program with(const ScheduleInput& input) {
  return [payload = everything(input)](Worker& worker) {
    while (worker.next_step()) {
      worker.forward();
      worker.backward();
      mistake(worker, payload);
    }
  };
}

void one_too_many(Worker& worker, const SharedPayload& payload) {
  worker.collectives().wait(worker.collectives().post(payload, worker.step()));
  if (worker.rank() == 0) worker.collectives().wait(worker.collectives().post(payload, worker.step()));
}

void never_posts(Worker& worker, const SharedPayload& payload) {
  if (worker.rank() != 1) worker.collectives().wait(worker.collectives().post(payload, worker.step()));
}

void crashes(Worker& worker, const SharedPayload& /*payload*/) {
  if (worker.step() == 1) std::abort();
}

void takes_for_ever(Worker& worker, const SharedPayload& payload) {
  worker.spend(Seconds(1e300));
  worker.collectives().wait(worker.collectives().post(payload, worker.step()));
}

template <int last_step>
Program ends_early(const ScheduleInput& input) {
  return [payload = everything(input)](Worker& worker) {
    while (worker.next_step() && !(worker.rank() == 1 && worker.step() == last_step)) {
      worker.forward();
      worker.backward();
      worker.collectives().wait(worker.collectives().post(payload, worker.step()));
    }
  };
}

Program fine(const ScheduleInput& /*input*/) {
  return [](Worker& worker) {
    while (worker.next_step()) worker.forward();
  };
}

}  // namespace

const std::vector<ScheduleRow>& schedules() {
  static const std::vector<ScheduleRow> table = {
      row("fine", "makes no mistake", fine),
      row("one-too-many", "rank 0 posts everything twice", with<one_too_many>),
      row("never-posts", "rank 1 never posts", with<never_posts>),
      row("ends-early", "rank 1 ends in its third step", ends_early<2>),
      row("ends-late", "rank 1 ends in its 101st step", ends_early<100>),
      row("takes-for-ever", "every step takes longer than the clock can tell", with<takes_for_ever>),
      row("crashes", "every rank aborts the process", with<crashes>),
  };
  return table;
}

}  // namespace syncopate
