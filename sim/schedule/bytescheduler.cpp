#include "schedule/by_layer.hpp"
#include "schedule/compression.hpp"
#include "schedule/sender.hpp"

namespace syncopate {

namespace {

/// Parts of tensors, those of the layer nearest to the input first, as many at a time as a credit allows; the next forward waits for them
/// layer by layer.
struct ByteScheduler {
  PartsOverServers sent = {.size = Bytes(4e6), .credit = {Bytes(16e6)}};  ///< or over all-reduces, by the same rules
  bool over_servers = false;

  void declare(Parameters& parameters) {
    parameters.optional("partition", sent.size, "size of a part of a tensor");
    parameters.optional("credit", sent.credit.bytes, "of each rank: bytes in flight");
    parameters.optional("rule", sent.credit.fits, {{"positive", false}, {"fits", true}},
                        "a part moves as long as any credit is left, or if it is no larger than what is left");
    parameters.optional("priority", sent.by_priority, {{"layer", true}, {"fifo", false}},
                        "layers near the input first, or in the order of posting");
    parameters.optional("forward", sent.gated, {{"layer", true}, {"barrier", false}},
                        "the next forward waits layer by layer, or its step for everything");
    parameters.optional("over", over_servers, {{"all-reduce", false}, {"servers", true}}, "what carries the parts");
    sent.servers.declare_places(parameters);
    sent.servers.compression.declare(parameters, true);
  }

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
    return {.waits_for_all = true,
            .updates_in_forward = sent.gated,

            .is_sgd = compression().is_none(),
            .is_lossy = !compression().is_none()};
  }
  double posts(const StepProfile& profile) const { return count_parts(profile, sent.size); }
  std::string note_on(const StepProfile& profile) const { return note_whole_tensors(profile, sent.size); }
  std::vector<ModelPart> parts(const ScheduleInput& input) const { return model_parts(input.profile, sent.size, !compression().is_none()); }

  Program program(const ScheduleInput& input) const { return over_servers ? sent.program(input) : over_all_reduces(input); }

  Program over_all_reduces(const ScheduleInput& input) const {
    struct Sent {
      Seconds ready;
      std::size_t layer;
      double priority;
      CompressedPost post;
    };
    std::vector<Sent> parts;
    for (const GradientPart& part : partition(input.profile, sent.size)) {
      parts.push_back({part.ready, part.layer, sent.by_priority ? part.priority : 0.0, CompressedPost(compression(), part.payload, input)});
    }
    const auto messages = by_layer(input.profile, parts.size(), [&](std::size_t i) { return std::vector<std::size_t>{parts[i].layer}; });
    Seconds decode;
    for (const Sent& part : parts) decode += part.post.decode;
    return [parts, messages, decode, gated = sent.gated, compression = compression()](Worker& worker) {
      std::vector<Handle> posted;
      Sender send(compression, parts.size());
      const auto arrive = [&](std::size_t layer) {
        Seconds decode_layer;
        for (std::size_t i = messages[layer].size(); i-- > 0;) {
          worker.wait(posted[messages[layer][i]]);
          decode_layer += parts[messages[layer][i]].post.decode;
        }
        worker.spend(decode_layer);
      };
      const auto take_in = [&] {
        worker.apply(worker.step());
        worker.replica().step(worker.mean_of(posted));
      };
      while (worker.next_step()) {
        if (gated && !posted.empty()) {
          forward_by_layer(worker, messages, [&](std::size_t layer) {
            arrive(layer);
            worker.update(layer);
          });
          take_in();
          worker.compute_on_model();
        } else {
          worker.forward();
        }
        posted.clear();
        for (std::size_t i = 0; i < parts.size(); ++i) {
          worker.backward_until(parts[i].ready);
          worker.spend(parts[i].post.encode);
          const Values value = send(worker, i, [&] { return worker.gradient(); });
          posted.push_back(worker.post(parts[i].post.payload, worker.step(),
                                       {.operation = parts[i].post.operation, .priority = parts[i].priority, .value = value}));
        }
        worker.backward();
        if (gated) continue;
        worker.wait(posted);
        worker.spend(decode);
        take_in();
        worker.update();
      }
    };
  }
};

}  // namespace

ScheduleRow bytescheduler() {
  return declare_schedule<ByteScheduler>(
      "bytescheduler", "parts of gradients by priority and credit; forward waits layer by layer",
      "Y. Peng et al., \"A generic communication scheduler for distributed DNN training acceleration\", SOSP'19");
}

}  // namespace syncopate
