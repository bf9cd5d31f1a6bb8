#include <array>
#include <cstdlib>

#include "schedule/schedules.hpp"

// The table of schedules of a simctl that runs programs with mistakes in them.

namespace syncopate {

namespace {

SharedPayload everything(const ScheduleInput& input) {
  return std::make_shared<Payload>(Payload{"everything", {{0, Bytes(0), input.profile.bytes()}}, input.profile.bytes()});
}

/// A synchronous program with one mistake, made at the end of each step.
template <void (*mistake)(Worker&, const SharedPayload&)>
Schedule read(Object& /*fields*/, const Cluster& /*cluster*/) {
  Schedule schedule;
  schedule.make = [](const ScheduleInput& input) -> Program {
    return [payload = everything(input)](Worker& worker) {
      while (worker.next_step()) {
        worker.forward();
        worker.backward();
        mistake(worker, payload);
      }
    };
  };
  return schedule;
}

void one_too_many(Worker& worker, const SharedPayload& payload) {
  worker.wait(worker.post(payload, worker.step()));
  if (worker.rank() == 0) worker.wait(worker.post(payload, worker.step()));
}

void never_posts(Worker& worker, const SharedPayload& payload) {
  if (worker.rank() != 1) worker.wait(worker.post(payload, worker.step()));
}

void crashes(Worker& worker, const SharedPayload& /*payload*/) {
  if (worker.step() == 1) std::abort();
}

Schedule read_ends_early(Object& /*fields*/, const Cluster& /*cluster*/) {
  Schedule schedule;
  schedule.make = [](const ScheduleInput& input) -> Program {
    return [payload = everything(input)](Worker& worker) {
      while (worker.next_step() && !(worker.rank() == 1 && worker.step() == 2)) {
        worker.forward();
        worker.backward();
        worker.wait(worker.post(payload, worker.step()));
      }
    };
  };
  return schedule;
}

Schedule read_fine(Object& /*fields*/, const Cluster& /*cluster*/) {
  Schedule schedule;
  schedule.make = [](const ScheduleInput&) -> Program {
    return [](Worker& worker) {
      while (worker.next_step()) worker.forward();
    };
  };
  return schedule;
}

constexpr std::array table = {
    ScheduleRow{"fine", "makes no mistake", "", read_fine},
    ScheduleRow{"one-too-many", "rank 0 posts everything twice", "", read<one_too_many>},
    ScheduleRow{"never-posts", "rank 1 never posts", "", read<never_posts>},
    ScheduleRow{"ends-early", "rank 1 ends in its third step", "", read_ends_early},
    ScheduleRow{"crashes", "every rank aborts the process", "", read<crashes>},
};

}  // namespace

std::span<const ScheduleRow> schedules() { return table; }

}  // namespace syncopate
