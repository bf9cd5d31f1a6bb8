#include "schedule/synchronous.hpp"

#include "schedule/compression.hpp"
#include "schedule/posts.hpp"
#include "schedule/sender.hpp"

namespace syncopate {

namespace {

/// The parameters and declarations that all synchronous schedules share.
struct Sending {
  int accumulated = 1;
  Compression compression{};

  void declare(Parameters& parameters) {
    parameters.optional("accumulate", accumulated, step_range, "steps whose gradients are added up before they are sent");
    compression.declare(parameters);
  }
  Traffic traffic() const { return all_reduces({}, compression.operation); }
  Pace pace() const {
    return {.cycle = accumulated,
            .steps_per_update = accumulated,
            .waits_for_all = true,
            .is_sgd = accumulated == 1 && compression.is_none(),
            .is_lossy = !compression.is_none()};
  }
};

struct Sent {
  GroupPost post;   ///< with the compressed payload
  Seconds prepare;  ///< time to merge into a buffer and to encode
};

Program send_groups(const Grouping& grouping, const ScheduleInput& input, const Sending& sending) {
  std::vector<Sent> groups;
  Seconds finish = sending.compression.decode_time(input.profile.bytes(), input.ranks);
  for (const GroupPost& group : group_posts(grouping, input.profile)) {
    const Seconds merge = merge_time(*group.payload, input.copy);
    const Seconds prepare = merge + sending.compression.encode_time(group.payload->bytes);
    groups.push_back({{group.post_at, sending.compression(group.payload, input)}, prepare});
    finish += merge;
  }
  return [groups, finish, sending, update = input.update](Worker& worker) {
    const Compression& compression = sending.compression;
    std::vector<Handle> posted;
    Sender send(compression, groups.size());
    GradientSum mean(worker, 1.0 / sending.accumulated);
    while (worker.next_step()) {
      worker.forward();
      if (worker.step() % sending.accumulated != sending.accumulated - 1) {
        worker.backward();
        mean();
        continue;
      }
      posted.clear();
      for (std::size_t i = 0; i < groups.size(); ++i) {
        worker.backward_until(groups[i].post.post_at);
        worker.spend(groups[i].prepare);
        posted.push_back(worker.collectives().post(groups[i].post.payload, worker.step(),
                                                   {.operation = compression.operation, .value = send(worker, i, mean)}));
      }
      worker.backward();
      worker.collectives().wait(posted);
      worker.spend(finish);
      worker.apply(worker.step());
      worker.dataflow().replica().step(worker.collectives().mean_of(posted));
      mean.clear();
      worker.update_for(update);
    }
  };
}

Schedule with_groups(const GroupingFunction& group, bool by_cost, const Sending& sending) {
  Schedule schedule = {.traffic = sending.traffic(), .pace = sending.pace(), .groups_by_cost = by_cost};
  schedule.posts = [group, accumulated = sending.accumulated](const StepProfile& profile, const CostCurve& cost) {
    return static_cast<double>(group(profile, cost).size()) / accumulated;
  };
  schedule.group_cost = [sending](const ScheduleInput& input) { return sending.compression.cost(input); };
  schedule.groups = [group, sending](const ScheduleInput& input) { return group(input.profile, sending.compression.cost(input)); };
  schedule.regrouped = [sending](const GroupingFunction& other) { return with_groups(other, false, sending); };
  schedule.unrecorded = sending.compression.unrecorded();
  if (!sending.compression.is_none()) {
    schedule.parts = [groups = schedule.groups](const ScheduleInput& input) { return parts_of(groups(input), input.profile); };
  }
  schedule.program = [groups = schedule.groups, sending](const ScheduleInput& input) { return send_groups(groups(input), input, sending); };
  return schedule;
}

}  // namespace

ScheduleRow synchronous(const GroupingRow& grouping) {
  const auto read = [grouping](Object& fields, const Cluster& /*cluster*/) {
    Sending sending;
    ParameterReader reader(fields);
    sending.declare(reader);
    return with_groups(grouping.read(fields), grouping.by_cost, sending);
  };
  ParameterList parameters;
  Sending().declare(parameters);
  parameters.list.insert(parameters.list.begin(), grouping.parameters.begin(), grouping.parameters.end());
  return {grouping.name, grouping.meaning, grouping.paper, parameters.list, read};
}

}  // namespace syncopate
