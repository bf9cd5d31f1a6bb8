#include "schedule/schedules.hpp"

#include <array>

#include "schedule/readers.hpp"
#include "schedule/synchronous.hpp"

namespace syncopate {

namespace {

/// A synchronous schedule is a grouping, all-reduced.
Schedule read_synchronous(Object& fields, const Cluster& /*cluster*/) {
  Schedule schedule;
  schedule.waits_for_all = true;
  schedule.groups_by_cost = groups_by_cost(fields.at("name").text());
  schedule.make = [group = read_grouping(fields)](const ScheduleInput& input) {
    return synchronous(group, input.profile, input.all_reduce);
  };
  return schedule;
}

constexpr std::array table = {
    ScheduleRow{"s-sgd", "one all-reduce per gradient, all after backward", "", read_synchronous},
    ScheduleRow{"wfbp", "one all-reduce per gradient, as soon as it is ready", "", read_synchronous},
    ScheduleRow{"sync-easgd", "one all-reduce for everything, after backward", "", read_synchronous},
    ScheduleRow{"mg-wfbp", "gradients merged by MG-WFBP's Algorithm 1 (greedy)", "", read_synchronous},
    ScheduleRow{"mg-wfbp-optimal", "gradients merged so that the last all-reduce ends first", "", read_synchronous},
    ScheduleRow{"fusion", "gradients merged into buckets of a fixed size, as PyTorch DDP does", "first_bucket (1MiB), bucket (25MiB)",
                read_synchronous},
    ScheduleRow{"ps-sgd", "parameter servers: push each gradient, pull the sum of all workers' pushes", "(servers), grouping (wfbp)",
                read_ps_sgd},
    ScheduleRow{"asgd", "parameter servers that answer each worker's push at once", "(servers), grouping (wfbp)", read_asgd},
    ScheduleRow{"ssd-sgd", "SSD-SGD: push every iteration, pull each k-th and overlap that with the next",
                "(servers), grouping (wfbp), delay k, warmup_iterations (0), local_update_s (the trace's)", read_ssd_sgd},
    ScheduleRow{"downpour", "after some local steps push what the gradients add up to, and pull", "(servers), interval", read_downpour},
    ScheduleRow{"eamsgd", "after some local steps pull the centre, push the elastic difference", "(servers), interval", read_eamsgd},
    ScheduleRow{
        "dts", "all-reduces every few steps, applied a few steps later, perhaps compressed",
        "delay, period (1), compression (1), index_bytes (4), sparse (all-gather | all-reduce), overhead_s (0), in_flight (pipelined "
        "| serial)",
        read_dts},
    ScheduleRow{"sasgd", "after some local steps a blocking all-reduce of the accumulated gradient", "interval", read_sasgd},
    ScheduleRow{"local-sgd", "the same, averaging models", "interval", read_sasgd},
    ScheduleRow{"lasgd", "local steps while the model is being all-reduced", "tau_max, worker (node | gpu), participants (1)", read_lasgd},
    ScheduleRow{"sgp", "stochastic gradient push: the model to one peer per step, overlapped", "", read_sgp},
};

}  // namespace

std::span<const ScheduleRow> schedules() { return table; }

}  // namespace syncopate
