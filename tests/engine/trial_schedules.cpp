#include "schedule/posts.hpp"
#include "schedule/schedules.hpp"

// The table of schedules of a simctl that tries what no schedule uses yet, for the independent definitions in tests/oracle.

namespace syncopate {

namespace {

/// One collective of the whole model after every step's backward, over the ranks first, first + stride, ...
template <int first, int stride>
struct Collective {
  Operation operation = Operation::all_reduce;

  static Communicator members(int ranks) { return Communicator((ranks - first + stride - 1) / stride, first, stride); }

  void declare(Parameters& parameters) {
    parameters.optional("operation", operation,
                        {{"all-reduce", Operation::all_reduce},
                         {"reduce-scatter", Operation::reduce_scatter},
                         {"all-gather", Operation::all_gather},
                         {"broadcast", Operation::broadcast}},
                        "what it does");
  }
  Traffic traffic() const {
    return {.streams = {{.operations = {operation}, .groups = [](const RankPlaces& places) { return Groups{members(places.ranks)}; }}}};
  }
  Pace pace() const { return {}; }

  Program program(const ScheduleInput& input) const {
    return [model = whole_model(input.profile), operation = operation](Worker& worker) {
      const Communicator group = members(worker.ranks());
      while (worker.next_step()) {
        worker.forward();
        worker.backward();
        if (group.member(worker.rank()) >= 0)
          worker.collectives().wait(worker.collectives().post(model, worker.step(), {.operation = operation}));
      }
    };
  }
};

/// Forward of a layer waits for the layer's gradient of the step before, which is sent when the layer's backward has ended, in parts of
/// equal size; by priority, layers nearer to the input go first.
struct Gated {
  bool by_priority = false;
  int parts = 1;

  void declare(Parameters& parameters) {
    parameters.optional("by_priority", by_priority, "layers nearer to the input first, else in the order of posting");
    parameters.optional("parts", parts, {1, 100}, "equal parts of every gradient");
  }
  Traffic traffic() const { return all_reduces({.by_priority = by_priority}); }
  static Pace pace() { return {.waits_for_all = true, .waits_later = true}; }

  /// What a layer sends.
  std::vector<SharedPayload> payloads(const StepProfile& profile, std::size_t layer) const {
    Bytes bytes;
    for (const StepProfile::GradientReady& gradient : profile.gradients) {
      if (gradient.layer == layer) bytes += gradient.bytes;
    }
    if (bytes == Bytes(0)) return {};
    const Bytes part = bytes / parts;
    return {static_cast<std::size_t>(parts), std::make_shared<Payload>(Payload{profile.layers[layer].name, {{0, part}}, part})};
  }

  Program program(const ScheduleInput& input) const {
    std::vector<std::vector<SharedPayload>> sent;
    for (std::size_t layer = 0; layer < input.profile.layers.size(); ++layer) sent.push_back(payloads(input.profile, layer));
    return [sent, by_priority = by_priority](Worker& worker) {
      std::vector<std::vector<Handle>> pending(sent.size());
      while (worker.next_step()) {
        for (std::size_t layer = 0; layer < sent.size(); ++layer) {
          worker.collectives().wait(pending[layer]);
          worker.forward(layer);
        }
        for (std::size_t layer = sent.size(); layer-- > 0;) {
          worker.backward(layer);
          pending[layer].clear();
          for (const SharedPayload& part : sent[layer]) {
            pending[layer].push_back(
                worker.collectives().post(part, worker.step(), {.priority = by_priority ? static_cast<double>(layer) : 0.0}));
          }
        }
      }
    };
  }
};

}  // namespace

const std::vector<ScheduleRow>& schedules() {
  static const std::vector<ScheduleRow> table = {
      declare_schedule<Collective<0, 1>>("collective", "one collective of everybody in every step", ""),
      declare_schedule<Collective<1, 2>>("collective-of-odd", "one collective of the odd ranks", ""),
      declare_schedule<Gated>("gated", "forward layer by layer as gradients arrive", ""),
  };
  return table;
}

}  // namespace syncopate
