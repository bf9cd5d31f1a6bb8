#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/errors.hpp"
#include "base/indexed.hpp"
#include "dataflow/dataflow.hpp"
#include "schedule/grouping.hpp"
#include "schedule/outer_optimizer.hpp"
#include "schedule/posts.hpp"
#include "schedule/schedule.hpp"

namespace syncopate {

namespace {

struct Message {
  Seconds ready;  ///< when the last gradient is ready, from the begin of an undisturbed backward
  SharedPayload payload;
  Seconds quantize;
};

/// Messages that are averaged together, in the order of posting.
using Fragment = std::vector<Message>;

/// Each worker makes inner steps on its own model. Once a round, every fragment of the model has an outer step over all workers.
/// A. Douillard et al., "DiLoCo", 2023, Algorithm 1; "Streaming DiLoCo with overlapping communication", 2025, Sec. 2; eager updates:
/// S. Kale et al., "Eager updates for overlapped communication and computation in DiLoCo", 2025.
struct Diloco {
  enum class Island { gpu, node, region };
  // Streams, if there are islands:
  static constexpr int inner_row = 0;
  static constexpr int outer_row = 1;
  static constexpr int down_row = 2;

  int interval = 100;
  int fragments = 1;
  bool is_strided = true;
  int overlap = 0;
  double mix = 0.0;
  int bits = 16;
  SecondsPerByte quantize{};
  Island who = Island::gpu;
  GroupingFunction inner = group_wfbp;
  OuterOptimizer outer{};
  Seconds matchmaking{};
  double quorum = 1.0;
  std::optional<Seconds> deadline{};
  bool by_layer = false;
  // Known once the cluster is:
  bool has_islands = false;  ///< some worker has several GPUs
  bool is_alone = false;     ///< there is only one worker

  void declare(Parameters& parameters) {
    parameters.optional("interval", interval, step_range, "H: inner steps of a round");
    parameters.optional("fragments", fragments, step_range, "P: parts of the model, each of which is averaged once a round");
    parameters.optional("pattern", is_strided, {{"strided", true}, {"sequential", false}},
                        "a fragment has every P-th layer, or layers that follow each other");
    parameters.optional("overlap", overlap, {0, 10'000}, "inner steps from a fragment's snapshot to its outer step");
    parameters.optional("mix", mix, {0.0, 1.0}, "share of its own fragment that a worker keeps at an outer step");
    parameters.optional("bits", bits, {1, 32}, "bits of each parameter in a message");
    parameters.optional("quantize_s_per_B", quantize, "time for each byte of a fragment before it is posted");
    parameters.optional("worker", who, {{"gpu", Island::gpu}, {"node", Island::node}, {"region", Island::region}},
                        "what a worker is: one GPU, or all GPUs of a node or region, which all-reduce gradients in every step");
    parameters.declare({.name = "inner",
                        .meaning = "how a worker's GPUs group the gradients that they all-reduce in every step",
                        .kind = ParameterInfo::Kind::grouping,
                        .default_value = "wfbp"},
                       [this](const Field& field) { inner = read_grouping(field); });
    parameters.declare({.name = "outer",
                        .meaning = "outer optimiser: a name, or an object with optimizer, lr and momentum",
                        .kind = ParameterInfo::Kind::choice,
                        .choices = {"nesterov", "momentum", "sgd"},
                        .default_value = "nesterov"},
                       [this](const Field& field) { outer.read(field); });
    parameters.optional("matchmaking_s", matchmaking, "time until a posted message counts as posted");
    parameters.optional("quorum", quorum, {0.0, 1.0, true}, "share of the workers that an averaging needs to begin");
    parameters.optional("deadline_s", deadline, "0", "time that an averaging waits for all workers after the first has posted");
    parameters.optional("posts", by_layer, {{"fragment", false}, {"layer", true}},
                        "fragment: one message at the snapshot; layer: one for each layer during the backward before it");
  }

  void place(const Cluster& cluster) {
    const int islands = who == Island::gpu            ? cluster.workers()
                        : who == Island::node         ? cluster.nodes
                        : cluster.regions.has_value() ? static_cast<int>(cluster.regions->list.size())
                                                      : 1;
    has_islands = islands < cluster.workers();
    is_alone = islands == 1;
  }

  void check(Object& fields, const Cluster& cluster) const {
    if (fragments > interval) {
      fields.at("fragments")
          .fail_because(fmt::format("{} fragments are more than the {} inner steps of a round, and each needs a step of its own; use at "
                                    "most {}, or a longer \"interval\"",
                                    fragments, interval, interval));
    }
    if (overlap > interval / fragments) {
      fields.at("overlap").fail_because(
          fmt::format("fragments take turns every {} inner steps, but the outer step comes {} steps after the snapshot; use at most {}, or "
                      "fewer \"fragments\"",
                      interval / fragments, overlap, interval / fragments));
    }
    if (who == Island::region && !cluster.regions) fields.at("worker").fail_because(R"(the cluster has no "regions"; use "node" or "gpu")");
    check_quorum(fields);
    if (by_layer && has_islands) {
      fields.at("posts").fail_because(
          R"(a worker of several GPUs all-reduces a layer's gradients before it updates the layer; use "fragment", or "worker": "gpu")");
    }
  }

  void check_quorum(Object& fields) const {
    if (quorum == 1.0) {
      if (deadline)
        fields.at("deadline_s")
            .fail_because(R"(with a "quorum" of 1 every averaging waits for all workers; use one below 1, or leave "deadline_s" out)");
      return;
    }
    const Field field = fields.at("quorum");
    if (fragments > 1) {
      field.fail_because(fmt::format(
          "a late worker takes over the whole averaged model, so it must be one fragment; leave \"fragments\" out instead of {}",
          fragments));
    }
    if (matchmaking > Seconds(0))
      field.fail_because(R"("matchmaking_s" cannot be combined with a "quorum" below 1; add it to "deadline_s" instead)");
    if (by_layer) field.fail_because(R"(a late worker has missed the whole model, not single layers; use "posts": "fragment")");
  }

  Groups islands(const RankPlaces& places) const { return who == Island::node ? each_node(places) : each_region(places); }

  Traffic traffic() const {
    const StreamRules outer_rules = {.participants = quorum,
                                     .deadline = quorum < 1.0 ? deadline.value_or(Seconds(0)) : std::optional<Seconds>()};
    if (!has_islands) return all_reduces(outer_rules);
    const auto all = [p = *this](const RankPlaces& places) { return p.islands(places); };
    const auto first = [p = *this](const RankPlaces& places) { return Groups{first_ranks(p.islands(places))}; };
    if (is_alone) return {.streams = {{.groups = all}}};
    return {.streams = {{.groups = all},
                        {.rules = outer_rules, .groups = first},
                        {.operations = {Operation::broadcast}, .groups = all, .follows = true}}};
  }
  Pace pace() const {
    return {.cycle = interval,
            .steps_before_warmup = snapshot_of(0) == 0 && !is_alone ? interval : 0,
            .waits_for_all = true,
            .may_lose_ranks = quorum < 1.0 && !has_islands,
            .waits_later = overlap > 0,
            .is_lossy = bits < 16};
  }
  bool groups_by_cost() const { return has_islands; }
  double posts(const StepProfile& profile) const {
    const double outer_posts = is_alone ? 0.0 : by_layer ? static_cast<double>(profile.layers.size()) : fragments;
    return outer_posts / interval + (has_islands ? static_cast<double>(inner(profile, CostCurve()).size()) : 0.0);
  }
  std::vector<ModelPart> parts(const ScheduleInput& input) const {
    std::vector<ModelPart> all;
    for (const std::vector<Slice>& fragment : slices(input)) {
      Bytes bytes;
      for (const Slice& slice : fragment) bytes += slice.bytes;
      all.push_back({fmt::format("fragment {}", all.size()), bytes});
    }
    return all;
  }
  std::string unrecorded() const {
    if (quorum < 1.0) return "a late worker takes over another worker's whole model";
    return bits < 16 ? fmt::format("no paper says how a difference of models becomes {} bits of each parameter", bits) : "";
  }

  /// The number of inner steps in the round before the fragment's outer step, and before its snapshot.
  int outer_step_of(int fragment) const { return ((fragment + 1) * interval + fragments - 1) / fragments; }
  int snapshot_of(int fragment) const { return outer_step_of(fragment) - overlap; }
  /// The step of a round after which `ended` steps have ended. For 0, the last step of the previous round.
  int last_of(int ended) const { return (ended + interval - 1) % interval; }

  /// By gradient: the fragment that contains it.
  std::vector<int> fragment_of_gradients(const StepProfile& profile) const;
  /// By fragment: the gradients in it, in ready order.
  Indexed<std::vector<Slice>> slices(const ScheduleInput& input) const;
  Indexed<Fragment> cut(const ScheduleInput& input) const;
  Program program(const ScheduleInput& input) const;

  struct Plan;
  class Rank;
};

std::vector<int> Diloco::fragment_of_gradients(const StepProfile& profile) const {
  std::vector<int> number(profile.layers.size(), -1);  // counts layers with gradients; -1: without
  for (const StepProfile::GradientReady& gradient : profile.gradients) number[gradient.layer] = 0;
  int layers = 0;
  for (int& layer : number) layer = layer < 0 ? -1 : layers++;
  if (layers == 0 || layers < fragments) {
    throw SimulationError(
        fmt::format("diloco: {} fragments, but only {} layers of the model have gradients; use at most {}", fragments, layers, layers));
  }
  std::vector<int> fragment;
  for (const StepProfile::GradientReady& gradient : profile.gradients) {
    const int layer = number[gradient.layer];
    fragment.push_back(is_strided ? layer % fragments : static_cast<int>(static_cast<std::int64_t>(layer) * fragments / layers));
  }
  return fragment;
}

Indexed<std::vector<Slice>> Diloco::slices(const ScheduleInput& input) const {
  Indexed<std::vector<Slice>> all(fragments);
  const std::vector<int> fragment = fragment_of_gradients(input.profile);
  for (std::size_t i = 0; i < fragment.size(); ++i) {
    all[fragment[i]].push_back({static_cast<int>(i), input.profile.gradients[i].bytes});
  }
  return all;
}

Indexed<Fragment> Diloco::cut(const ScheduleInput& input) const {
  const double sent = bits / bits_per_byte / input.value.value;
  Indexed<Fragment> all;
  for (const std::vector<Slice>& fragment : slices(input)) {
    std::map<std::size_t, Payload> payloads;  // by layer if by_layer, else only entry 0
    for (const Slice& slice : fragment) {
      const std::size_t layer = input.profile.gradients[at(slice.tensor)].layer;
      Payload& message = payloads[by_layer ? layer : 0];
      message.label = by_layer ? input.profile.layers[layer].name : fmt::format("fragment {}", all.size());
      message.slices.push_back(slice);
      message.bytes += sent * slice.bytes;
    }
    Fragment messages;
    for (auto& [layer, payload] : payloads) {
      const Seconds ready = input.profile.gradients[at(payload.slices.back().tensor)].ready;
      const Seconds time = quantize * uncompressed(payload);
      messages.push_back({ready, std::make_shared<Payload>(std::move(payload)), time});
    }
    std::sort(messages.begin(), messages.end(),
              [](const Message& a, const Message& b) { return a.payload->slices.back().tensor < b.payload->slices.back().tensor; });
    all.push_back(std::move(messages));
  }
  return all;
}

/// Data that all ranks share.
struct Diloco::Plan {
  Diloco diloco;
  Indexed<Fragment> fragments;
  std::vector<GroupPost> inner;
  std::vector<Seconds> merge;  ///< by group: the time to copy the gradients into or out of a buffer
  Indexed<int> snapshots;      ///< by step of a round: the fragment with a snapshot at the step's end; -1: none
  Indexed<int> outer_steps;    ///< by step of a round: the fragment with an outer step at the step's end; -1: none
};

class Diloco::Rank {
 public:
  Rank(const Plan& plan, Worker& worker)
      : plan_(plan),
        worker_(worker),
        collectives_(worker.collectives()),
        dataflow_(worker.dataflow()),
        x_(dataflow_.replica()),
        shared_(x_.model()),
        velocity_(plan.fragments.size()),
        is_island_(plan.diloco.has_islands && collectives_.group(inner_row).size() > 1),
        leads_(!is_island_ || collectives_.group(inner_row).member(worker.rank()) == 0) {}

  void step() {
    if (worker_.has_joined()) come_back();
    const int leaving_now = plan_.snapshots[place_];
    worker_.forward();
    if (p().by_layer && leaving_now >= 0) {
      post_layers(leaving_now);
      worker_.backward();
    } else {
      learn();
    }
    worker_.update();
    if (is_back_ && collectives_.is_expected(outer_stream())) place_ = p().last_of(p().snapshot_of(0));
    if (!p().by_layer && plan_.snapshots[place_] >= 0) post_whole(plan_.snapshots[place_]);
    if (plan_.outer_steps[place_] >= 0) step_outer(plan_.outer_steps[place_]);
    place_ = (place_ + 1) % p().interval;
  }

 private:
  struct Leaving {
    int step;
    std::vector<Handle> handles;
  };

  const Diloco& p() const { return plan_.diloco; }
  int outer_stream() const { return p().has_islands ? outer_row : 0; }

  /// After an absence: waits for the posted fragments, and takes over the model if it missed an averaging.
  void come_back() {
    is_back_ = true;
    for (; !leaving_.empty(); leaving_.pop_front()) collectives_.wait(leaving_.front().handles);
    if (!collectives_.has_missed(outer_stream())) return;
    collectives_.wait(collectives_.post(messages_of(0).front().payload, worker_.step(), {.stream = outer_stream()}));
    place_ = 0;
  }

  /// Backward, and in an island the all-reduce of the gradients.
  void learn() {
    if (!is_island_) {
      worker_.backward();
      x_.step(dataflow_.gradient());
      return;
    }
    std::vector<Handle> posted;
    Seconds merged;
    for (const GroupPost& group : plan_.inner) {
      worker_.backward_until(group.post_at);
      const bool is_last = posted.size() + 1 == plan_.inner.size();
      worker_.spend(plan_.merge[posted.size()]);
      merged += plan_.merge[posted.size()];
      posted.push_back(
          collectives_.post(group.payload, worker_.step(), {.stream = inner_row, .value = is_last ? dataflow_.gradient() : Values()}));
    }
    worker_.backward();
    collectives_.wait(posted);
    worker_.spend(merged);
    worker_.apply(worker_.step());
    x_.step(collectives_.mean_of(posted.back()));
  }

  void post_layers(int fragment) {
    leaving_.push_back({worker_.step(), {}});
    const Fragment& layers = messages_of(fragment);
    for (const Message& layer : layers) {
      worker_.backward_until(layer.ready);
      const bool is_last = &layer == &layers.back();
      if (is_last) x_.step(dataflow_.gradient());
      post(layer, is_last ? learned(fragment) : Values());
    }
  }

  void post_whole(int fragment) {
    is_back_ = false;
    leaving_.push_back({worker_.step(), {}});
    post(messages_of(fragment).front(), learned(fragment));
  }

  void post(const Message& message, const Values& value) {
    worker_.spend(message.quantize);
    PostOptions options = {.stream = outer_stream(), .value = value, .delay = p().matchmaking};
    Handle handle;
    if (leads_) handle = collectives_.post(message.payload, worker_.step(), options);
    if (is_island_) {
      if (leads_) leaving_.back().handles.push_back(handle);
      options = {.operation = Operation::broadcast, .stream = down_row, .delay = p().matchmaking};
      if (leads_) options.after = handle;
      handle = collectives_.post(message.payload, worker_.step(), options);
    }
    leaving_.back().handles.push_back(handle);
  }

  void step_outer(int fragment) {
    if (leaving_.empty() || leaving_.front().step != worker_.step() - p().overlap) return;  // early in the first round nothing was posted
    const std::vector<Handle> handles = std::move(leaving_.front().handles);
    leaving_.pop_front();
    if (is_island_) {
      for (const Handle handle : handles)
        collectives_.wait(handle);  // in order, because a broadcast is posted only when its all-reduce has ended
    } else {
      collectives_.wait(handles);
    }
    worker_.apply(worker_.step() - p().overlap);
    if (!dataflow_.is_recorded()) return;
    const Sum back = p().outer(worker_, collectives_.mean_of(handles.back()), velocity_[fragment]);
    const Values stepped = dataflow_.value(shared_.part(at(fragment)) - back);
    shared_.replace(stepped);
    x_.become((1.0 - p().mix) * stepped + p().mix * x_.model().part(at(fragment)));
  }

  const Fragment& messages_of(int fragment) const { return plan_.fragments[fragment]; }
  Values learned(int fragment) const { return dataflow_.value(shared_.part(at(fragment)) - x_.model().part(at(fragment))); }

  const Plan& plan_;
  Worker& worker_;
  Collectives& collectives_;
  WorkerDataflow& dataflow_;
  Replica& x_;                   ///< the worker's model
  Values shared_;                ///< the model after the last outer step of each fragment
  Indexed<Values> velocity_;     ///< by fragment
  bool is_island_;               ///< whether the worker has several GPUs
  bool leads_;                   ///< whether this is the worker's first GPU
  std::deque<Leaving> leaving_;  ///< posted fragments, in the order of the snapshots
  int place_ = 0;                ///< the current step of the round, from 0
  bool is_back_ = false;         ///< has come back from an absence and not posted since
};

Program Diloco::program(const ScheduleInput& input) const {
  const Indexed<int> none(interval, -1);
  Plan plan = {*this, cut(input), {}, {}, none, none};
  if (has_islands) plan.inner = group_posts(inner(input.profile, input.collective), input.profile);
  for (const GroupPost& group : plan.inner) plan.merge.push_back(merge_time(*group.payload, input.copy));
  for (int fragment = 0; fragment < fragments && !is_alone; ++fragment) {
    plan.snapshots[last_of(snapshot_of(fragment))] = fragment;
    plan.outer_steps[last_of(outer_step_of(fragment))] = fragment;
  }
  return [plan](Worker& worker) {
    Rank rank(plan, worker);
    while (worker.next_step()) rank.step();
  };
}

}  // namespace

ScheduleRow diloco() {
  return declare_schedule<Diloco>("diloco",
                                  "inner steps on models of their own, and once a round an outer step of each fragment of the model",
                                  "A. Douillard et al., \"DiLoCo: distributed low-communication training of language models\", 2023; "
                                  "\"Streaming DiLoCo with overlapping communication\", 2025");
}

}  // namespace syncopate
