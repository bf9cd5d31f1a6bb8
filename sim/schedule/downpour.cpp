#include "schedule/posts.hpp"
#include "schedule/readers.hpp"
#include "schedule/servers.hpp"

namespace syncopate {

namespace {

/// Downpour SGD, J. Dean et al., "Large scale distributed deep networks", NIPS'12, Sec. 4.1; SASGD, Sec. II-A: after every
/// `interval` local steps a learner pushes what its gradients add up to and pulls the parameters. Learners do not wait for
/// each other.
Program downpour(int interval, const ScheduleInput& input) {
  return [model = whole_model(input.profile), interval](Worker& worker) {
    while (worker.next_step()) {
      worker.forward();
      worker.backward();
      worker.update();
      if (worker.step() % interval == interval - 1) worker.wait(worker.push(model, worker.step(), Answer::own));
    }
  };
}

/// EAMSGD, S. Zhang et al., "Deep learning with elastic averaging SGD", NIPS'15, Algorithm 2: the learner pulls the centre, moves
/// towards it, and pushes the difference, which moves the centre.
Program eamsgd(int interval, const ScheduleInput& input) {
  return [model = whole_model(input.profile), interval](Worker& worker) {
    while (worker.next_step()) {
      worker.forward();
      worker.backward();
      worker.update();
      if (worker.step() % interval != interval - 1) continue;
      worker.wait(worker.pull(model, worker.step()));
      worker.wait(worker.push(model, worker.step(), Answer::none));
    }
  };
}

template <auto program>
Schedule read_learner(Object& fields, const Cluster& cluster) {
  Schedule schedule;
  schedule.servers = read_servers(fields, cluster);
  schedule.all_reduces = false;
  schedule.servers->asynchronous = true;
  schedule.ranks = RankKind::node;
  schedule.cycle = read_steps(fields.at("interval"));
  schedule.make = [interval = schedule.cycle](const ScheduleInput& input) { return program(interval, input); };
  return schedule;
}

}  // namespace

Schedule read_downpour(Object& fields, const Cluster& cluster) { return read_learner<downpour>(fields, cluster); }

Schedule read_eamsgd(Object& fields, const Cluster& cluster) { return read_learner<eamsgd>(fields, cluster); }

}  // namespace syncopate
