#include "schedule/schedules.hpp"

#include <array>

#include "schedule/synchronous.hpp"

namespace syncopate {

namespace {

Schedule synchronous_schedule(GroupingFunction group) {
  Schedule schedule;
  schedule.waits_for_all = true;
  schedule.make = [group = std::move(group)](const ScheduleInput& input) {
    return synchronous(group, input.profile, input.all_reduce, input.ranks);
  };
  return schedule;
}

template <auto group>
Schedule read_synchronous(Object& /*fields*/) {
  return synchronous_schedule(group);
}

Schedule read_fusion(Object& fields) {
  const auto first_bucket = fields.find("first_bucket");
  const auto bucket = fields.find("bucket");
  const Bytes first_bytes = first_bucket ? first_bucket->bytes() : Bytes(1 << 20);
  const Bytes bytes = bucket ? bucket->bytes() : Bytes(25 << 20);
  return synchronous_schedule(
      [first_bytes, bytes](const StepProfile& profile, const CostLine&) { return group_fusion(profile, first_bytes, bytes); });
}

constexpr std::array table = {
    ScheduleRow{"s-sgd", "one all-reduce per gradient, all after backward", "", read_synchronous<group_s_sgd>},
    ScheduleRow{"wfbp", "one all-reduce per gradient, as soon as it is ready", "", read_synchronous<group_wfbp>},
    ScheduleRow{"sync-easgd", "one all-reduce for everything, after backward", "", read_synchronous<group_sync_easgd>},
    ScheduleRow{"mg-wfbp", "gradients merged by MG-WFBP's Algorithm 1 (greedy)", "", read_synchronous<group_mg_wfbp>},
    ScheduleRow{"mg-wfbp-optimal", "gradients merged so that the last all-reduce ends first", "", read_synchronous<group_mg_wfbp_optimal>},
    ScheduleRow{"fusion", "gradients merged into buckets of a fixed size, as PyTorch DDP does", "first_bucket (1MiB), bucket (25MiB)",
                read_fusion},
};

}  // namespace

std::span<const ScheduleRow> schedules() { return table; }

std::vector<std::string> schedules_not_built_yet() {
  return {"ps-sgd", "asgd", "ssd-sgd", "downpour", "eamsgd", "dts", "sasgd", "local-sgd", "lasgd", "sgp"};
}

}  // namespace syncopate
