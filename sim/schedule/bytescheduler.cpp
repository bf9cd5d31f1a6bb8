#include <span>

#include "schedule/by_layer.hpp"

namespace syncopate {

namespace {

struct OverAllReduces {
  using Posted = Handle;

  Handle post(Worker& worker, std::size_t i, const Values& value) const {
    worker.spend(messages[i].encode);
    return worker.collectives().post(messages[i].payload, worker.step(),
                                     {.operation = messages[i].operation, .priority = priorities[i], .value = value});
  }
  static void wait(Worker& worker, std::span<const Handle> posted) { worker.collectives().wait(posted); }
  Seconds decode(std::size_t i) const { return messages[i].decode; }
  static void take_in(Worker& worker, const std::vector<Handle>& posted) {
    worker.dataflow().replica().step(worker.collectives().mean_of(posted));
  }
  static void update(Worker& worker, std::size_t layer) { worker.update(layer); }
  static void update(Worker& worker) { worker.update(); }

  std::vector<CompressedPost> messages{};
  std::vector<double> priorities{};
};

/// Sends tensors in parts. Parts of the layer nearest to the input go first; the credit limits the bytes in flight. The next forward waits
/// layer by layer.
struct ByteScheduler {
  PartsOverServers sent = {.size = Bytes(4e6), .credit = {Bytes(16e6)}};  ///< the same rules hold for all-reduces
  bool over_servers = false;

  void declare(Parameters& parameters) {
    parameters.optional("partition", sent.size, "size of a part of a tensor");
    parameters.optional("credit", sent.credit.bytes, "bytes that each rank may have in flight");
    parameters.optional("rule", sent.credit.fits, {{"positive", false}, {"fits", true}},
                        "positive: a part starts while any credit is left; fits: only if the credit left is as large as the part");
    parameters.optional("priority", sent.by_priority, {{"layer", true}, {"fifo", false}},
                        "layer: layers near the input first; fifo: in the order of posting");
    parameters.optional("forward", sent.gated, {{"layer", true}, {"barrier", false}},
                        "layer: the next forward waits layer by layer; barrier: a step waits for all its parts");
    parameters.optional("over", over_servers, {{"all-reduce", false}, {"servers", true}},
                        "how parts move: by all-reduces, or over parameter servers");
    sent.servers.declare_places(parameters);
    sent.servers.compression.declare(parameters, true);
  }

  void place(const Cluster& cluster) { sent.servers.place(cluster); }
  void check(Object& fields, const Cluster& /*cluster*/) const {
    if (sent.credit.fits && sent.credit.bytes < sent.size) {
      fields.at(fields.field().json().contains("credit") ? "credit" : "partition")
          .fail_because(
              R"(no part of "partition" bytes fits into the "credit"; give it more credit, make parts smaller, or use "rule": "positive")");
    }
    if (over_servers) return;
    for (const char* const of_servers : {"servers", "colocated", "server_s_per_B"}) {
      if (const auto field = fields.find(of_servers))
        field->fail_because(R"(there are no servers; leave it out, or use "over": "servers")");
    }
    if (compression().pulls)
      fields.at("compression").fail_because(R"(nothing is pulled without servers; leave "pull" out, or use "over": "servers")");
  }

  const Compression& compression() const { return sent.servers.compression; }
  std::string unrecorded() const { return compression().unrecorded(); }
  Traffic traffic() const {
    if (over_servers) return sent.traffic();
    return all_reduces({.channels = unlimited, .by_priority = true, .credit = sent.credit}, compression().operation);
  }
  Pace pace() const {
    if (over_servers) return sent.pace();
    return {.steps_before_warmup = sent.gated ? 1 : 0,
            .waits_for_all = true,
            .updates_in_forward = sent.gated,
            .is_sgd = compression().is_none(),
            .is_lossy = !compression().is_none()};
  }
  double posts(const StepProfile& profile) const { return count_parts(profile, sent.size); }
  std::string note_on(const StepProfile& profile) const { return note_whole_tensors(profile, sent.size); }
  std::vector<ModelPart> parts(const ScheduleInput& input) const { return model_parts(input.profile, sent.size, !compression().is_none()); }

  Program program(const ScheduleInput& input) const { return over_servers ? sent.program(input) : over_all_reduces(input); }

  Program over_all_reduces(const ScheduleInput& input) const {
    const std::vector<GradientPart> parts = partition(input.profile, sent.size);
    OverAllReduces way;
    for (const GradientPart& part : parts) {
      way.messages.emplace_back(compression(), part.payload, input);
      way.priorities.push_back(sent.priority(part));
    }
    return program_by_layer(parts, input.profile, sent.gated, compression(), way);
  }
};

}  // namespace

ScheduleRow bytescheduler() {
  return declare_schedule<ByteScheduler>(
      "bytescheduler", "parts of gradients by priority and credit; forward waits layer by layer",
      "Y. Peng et al., \"A generic communication scheduler for distributed DNN training acceleration\", SOSP'19");
}

}  // namespace syncopate
