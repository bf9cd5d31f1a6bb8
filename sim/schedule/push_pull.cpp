#include <fmt/format.h>

#include "schedule/posts.hpp"
#include "schedule/servers.hpp"

namespace syncopate {

void PushPull::declare(Parameters& parameters) {
  servers.declare(parameters);
  grouping.declare(parameters);
  if (answer == Answer::all) {
    parameters.optional("backup", backup, {0, 999'999}, "number of clients, the last ones, whose pushes a step does not wait for");
  }
}

void PushPull::check(Object& fields, const Cluster& cluster) const {
  servers.check(fields, cluster);
  if (backup == 0) return;
  if (backup >= cluster.nodes) {
    fields.at("backup").fail_because(
        fmt::format("a step needs a push of at least one of the {} clients; use at most {}", cluster.nodes, cluster.nodes - 1));
  }
  if (!servers.duplex) {
    fields.at("backup").fail_because(
        "a late client pulls while it still pushes, which takes two channels; leave \"duplex\" or \"backup\" out");
  }
  if (servers.on_request) {
    fields.at("backup").fail_because(
        R"(a late client pulls what it has not pushed, so that nothing is acknowledged; leave "pulls" or "backup" out)");
  }
}

Traffic PushPull::traffic() const {
  Traffic traffic = servers.traffic(answer == Answer::own, rule);
  traffic.servers->backup = backup;
  return traffic;
}

Program PushPull::program(const ScheduleInput& input) const {
  if (backup > 0) return program_with_backup(input);
  const std::vector<GroupPush> groups = grouping.pushes(servers, input);
  return [groups, decode = decode_time(groups), model = ServerPost(servers, whole_model(input.profile), input.value), answer = answer,
          compression = servers.compression](Worker& worker) {
    std::vector<Exchange> exchanges;
    Sender send(compression, groups.size());
    while (worker.next_step()) {
      if (worker.has_joined()) begin_with(worker, model);
      worker.forward();
      exchanges.clear();
      for (std::size_t i = 0; i < groups.size(); ++i) {
        worker.backward_until(groups[i].post_at);
        const Values gradient = send(worker, i, [&] { return worker.dataflow().gradient(); });
        exchanges.push_back(groups[i].message.push(worker, worker.step(), answer, {.value = gradient}));
      }
      worker.backward();
      worker.servers().wait(exchanges);
      worker.spend(decode);
      worker.dataflow().replica().become(worker.servers().pulled_by(exchanges));
      if (answer == Answer::all) worker.apply(worker.step());
    }
  };
}

Program PushPull::program_with_backup(const ScheduleInput& input) const {
  const std::vector<GroupPush> groups = grouping.pushes(servers, input);
  return [groups, decode = decode_time(groups), all = input.profile.bytes(), compression = servers.compression](Worker& worker) {
    std::vector<Exchange> sums;
    Sender send(compression, groups.size());
    while (worker.next_step()) {
      sums.clear();
      for (std::size_t i = 0; i < groups.size(); ++i) {
        sums.push_back(groups[i].message.join(worker, worker.step(), worker.dataflow().replica().model().part(i)));
      }
      worker.servers().give_up_when_in(sums);
      worker.forward();
      for (std::size_t i = 0; i < groups.size(); ++i) {
        worker.backward_until(groups[i].post_at);
        if (worker.servers().has_given_up()) break;
        const Values gradient = send(worker, i, [&] { return worker.dataflow().gradient(); });
        groups[i].message.contribute(worker, sums[i], groups[i].message.whole()->bytes / all, gradient);
      }
      worker.backward();
      worker.servers().wait(sums);
      worker.spend(decode);
      worker.dataflow().replica().become(worker.servers().pulled_by(sums));
      worker.apply(worker.step());
    }
  };
}

}  // namespace syncopate
