#include <fmt/format.h>

#include <algorithm>

#include "base/indexed.hpp"
#include "schedule/local_updates.hpp"
#include "schedule/servers.hpp"

namespace syncopate {

namespace {

/// The servers' step decays the weights (Sec. 3.2.1).
constexpr ServerRule decaying_rule = {.sums_rounds = true,
                                      .handle = [](Replica& x, const Values& mean, const Values& /*seen*/, int /*clients*/) {
                                        x.step(mean + hyper::wd * Sum(x.model().parts(mean.first(), mean.size())));
                                      }};

/// The warm-up is ps-sgd. After it every iteration pushes, and every k-th iteration also pulls. The pulls overlap with the next iteration,
/// whose local updates wait for them. The rule of the local update (GLU, SGD, DC-ASGD; Fig. 5) changes its time and the record of the
/// dataflow.
/// - Eq. 4: only the first layer's local update is exposed.
/// - Algorithm 1: in every iteration the updated weights, not the pulled ones, are broadcast to the node's devices.
struct SsdSgd {
  ServerParameters servers;
  int delay = 1;
  int warmup_iterations = 0;
  enum class Local { glu, sgd, dc_asgd };
  Local rule = Local::glu;
  std::optional<Seconds> local_update;
  ServerGrouping grouping;

  void declare(Parameters& parameters) {
    constexpr Integers warmups = {0, 1'000'000};
    servers.declare(parameters);
    parameters.required("delay", delay, step_range, "k: every k-th iteration pulls", 5);  // Fig. 7
    parameters.optional("warmup_iterations", warmup_iterations, warmups, "first iterations, which go as in ps-sgd and are never measured");
    parameters.optional("local_update", rule, {{"glu", Local::glu}, {"sgd", Local::sgd}, {"dc-asgd", Local::dc_asgd}},
                        "rule of the local update in a record of the dataflow; its time is local_update_s");
    parameters.optional("local_update_s", local_update, "the trace's, by layers",
                        "time of the local update of the layer that is ready last");
    grouping.declare(parameters);
  }

  LocalUpdates updates(const StepProfile& profile, Seconds traced) const {
    return local_update ? LocalUpdates::of_last(profile, *local_update) : LocalUpdates(profile, traced);
  }

  /// Algorithm 1 counts the delay from the begin of the warm-up, so the warm-up must be a multiple of it.
  std::string note() const {
    if (warmup_iterations % delay == 0) return "";
    return fmt::format("ssd-sgd with a delay of {}: the paper asks for a warm-up of a multiple of the delay, but it has {} iterations",
                       delay, warmup_iterations);
  }

  void place(const Cluster& cluster) { servers.place(cluster); }
  void check(Object& fields, const Cluster& cluster) const { servers.check(fields, cluster); }
  Traffic traffic() const { return servers.traffic(false, decaying_rule); }
  std::string unrecorded() const { return servers.compression.unrecorded(); }
  std::vector<ModelPart> parts(const ScheduleInput& input) const { return grouping.parts(servers, input, !servers.compression.is_none()); }
  double posts(const StepProfile& profile) const { return grouping.posts(profile); }
  Pace pace() const {
    return {.cycle = delay,
            .steps_before_warmup = warmup_iterations,
            .waits_for_all = true,
            .waits_later = true,
            .is_lossy = !servers.compression.is_none(),
            .servers_update = true,
            .update = [*this](const StepProfile& profile) { return updates(profile, profile.update).layers().back().update; }};
  }

  /// An event of backward. Events are sorted by time.
  struct Event {
    Seconds at;         ///< from the begin of an undisturbed backward
    std::size_t index;  ///< of a group that is pushed, or of a layer whose update is possible
    bool pushes;
  };
  static std::vector<Event> events_of_backward(const std::vector<GroupPush>& groups, const LocalUpdates& updates) {
    std::vector<Event> events;
    for (std::size_t layer = 0; layer < updates.layers().size(); ++layer) events.push_back({updates.layers()[layer].ready, layer, false});
    for (std::size_t group = 0; group < groups.size(); ++group) events.push_back({groups[group].post_at, group, true});
    std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.at < b.at; });
    return events;
  }

  /// By group: the layers whose gradients are in it. Layers are numbered in ready order.
  static std::vector<std::vector<std::size_t>> layers_of(const std::vector<GroupPush>& groups, const LocalUpdates& updates,
                                                         const StepProfile& profile) {
    std::vector<std::size_t> number(profile.layers.size());
    for (std::size_t layer = 0; layer < updates.layers().size(); ++layer) number[updates.layers()[layer].index] = layer;
    std::vector<std::vector<std::size_t>> carried;
    for (const GroupPush& group : groups) {
      std::vector<std::size_t>& layers = carried.emplace_back();
      for (const Slice& slice : group.message.whole()->slices) {
        layers.push_back(number[profile.gradients[at(slice.tensor)].layer]);
      }
      layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
    }
    return carried;
  }

  /// The arithmetic of the local update. GLU combines the local gradient with a global one, the move between two pulls (Eq. 8, Alg. 2).
  class Update {
   public:
    Update(Worker& worker, Local rule, int delay)
        : worker_(worker), rule_(rule), delay_(delay), before_(worker.dataflow().replica().model()) {}

    /// Takes the model that the warm-up has pulled.
    void start(const Values& pulled) {
      if (pulled.empty()) return;
      worker_.dataflow().replica().become(pulled);
      before_ = pulled;
    }

    void operator()(const Values& pulled) {
      if (!worker_.dataflow().is_recorded()) return;
      Replica& x = worker_.dataflow().replica();
      if (!pulled.empty()) x.become(pulled);
      const Values at = x.model();
      switch (rule_) {
        case Local::glu: {
          Sum global = (before_ - at) / (hyper::lr * delay_);
          if (worker_.dataflow().has_momentum()) global = global - hyper::mu * global;
          if (!pulled.empty()) before_ = pulled;
          return x.become(at - hyper::lr_loc * (hyper::alpha * worker_.dataflow().gradient() + hyper::wd * at + hyper::beta * global));
        }
        case Local::sgd: return x.become(at - hyper::lr_loc * worker_.dataflow().gradient());
        case Local::dc_asgd: {
          x.compensated_step(worker_.dataflow().gradient(), worker_.dataflow().computed_on());
          return x.become(at + hyper::lr_loc / hyper::lr * (x.model() - at));
        }
      }
    }

   private:
    Worker& worker_;
    Local rule_;
    int delay_;
    Values before_;  ///< the model of the previous pull
  };

  Program program(const ScheduleInput& input) const {
    const std::vector<GroupPush> groups = grouping.pushes(servers, input);
    const Seconds decode = decode_time(groups);
    const LocalUpdates updates = this->updates(input.profile, input.update);
    return [groups, decode, updates, events = events_of_backward(groups, updates), carried = layers_of(groups, updates, input.profile),
            rule = rule, delay = delay, warmup_iterations = warmup_iterations, compression = servers.compression](Worker& worker) {
      Sender send(compression, groups.size());
      Update update(worker, rule, delay);
      std::vector<Exchange> pushed;
      std::vector<Exchange> pulls;  ///< of the previous iteration
      LocalUpdates::Step local(updates);
      while (worker.next_step()) {
        const bool warming_up = worker.step() < warmup_iterations;
        const int num = worker.step() - warmup_iterations;
        const bool pull = warming_up || num % delay == delay - 1;
        local.forward(worker);
        pushed.clear();
        for (const Event& event : events) {
          worker.backward_until(event.at);
          if (event.pushes) {
            const Values gradient = send(worker, event.index, [&] { return worker.dataflow().gradient(); });
            const PushOptions options = {.spread = warming_up, .keep_end = pull && !warming_up, .value = gradient};
            pushed.push_back(groups[event.index].message.push(worker, worker.step(), pull ? Answer::all : Answer::none, options));
          } else {
            local.hold(event.index, worker.now());
          }
        }
        worker.backward();
        local.hold(updates.layers().size() - 1, worker.now());
        if (warming_up) {
          worker.servers().wait(pushed);
          worker.spend(decode);
          worker.apply(worker.step());
          update.start(worker.servers().pulled_by(pushed));
          continue;
        }
        for (std::size_t group = pulls.size(); group-- > 0;) {
          const Seconds arrived = worker.servers().wait(pulls[group]);
          for (const std::size_t layer : carried[group]) local.hold(layer, arrived);
        }
        if (!pulls.empty()) {
          worker.spend(decode);
          if (decode > Seconds(0)) local.hold_all(worker.now());
          worker.apply(worker.step() - 1);
        }
        local.end(worker);
        update(worker.servers().pulled_by(pulls));
        pulls.clear();
        if (pull) pulls.swap(pushed);
      }
    };
  }
};

}  // namespace

ScheduleRow ssd_sgd() {
  return declare_schedule<SsdSgd>("ssd-sgd", "SSD-SGD: push every iteration, pull each k-th and overlap that with the next",
                                  "Y. Xu et al., \"SSD-SGD: communication sparsification for distributed deep learning training\", Sec. 3");
}

}  // namespace syncopate
