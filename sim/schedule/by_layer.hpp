#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "collective/payload.hpp"
#include "engine/worker/worker.hpp"
#include "schedule/compression.hpp"
#include "schedule/schedule.hpp"
#include "schedule/sender.hpp"
#include "schedule/servers.hpp"
#include "trace/step_profile.hpp"

namespace syncopate {

/// A part of a gradient, as one message.
struct GradientPart {
  Seconds ready;          ///< since backward began, on an undisturbed worker
  std::size_t layer = 0;  ///< counted from the input
  double priority = 0.0;  ///< by the layer, then by its number in its tensor
  SharedPayload payload;  ///< before compression
};

/// Cuts each tensor into parts of `size` and a last part of what remains; in the order in which they are ready. ByteScheduler, SOSP'19.
std::vector<GradientPart> partition(const StepProfile& profile, Bytes size);
/// How many parts there are.
double count_parts(const StepProfile& profile, Bytes size);

/// By layer of the network: which of `count` messages have gradients of it. `carried(i)` lists the layers of message i.
template <class Carried>
std::vector<std::vector<std::size_t>> by_layer(const StepProfile& profile, std::size_t count, Carried&& carried) {
  std::vector<std::vector<std::size_t>> messages(profile.layers.size());
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::size_t layer : carried(i)) messages[layer].push_back(i);
  }
  return messages;
}

/// Forward layer by layer; before each layer with gradients, `take_in(layer)` waits for them and updates the layer.
template <class TakeIn>
void forward_by_layer(Worker& worker, const std::vector<std::vector<std::size_t>>& messages, TakeIn&& take_in) {
  for (std::size_t layer = 0; layer < messages.size(); ++layer) {
    if (!messages[layer].empty()) take_in(layer);
    worker.forward(layer);
  }
}

/// A rank that posts parts of gradients as they are ready. It waits for them layer by layer in the next forward if `gated`, else at the
/// step's end. `way` moves the parts:
/// - `post(worker, i, value)` posts part i, `wait(worker, posted)` waits for some parts;
/// - `decode(i)` is the worker's time for part i when it has come;
/// - `take_in(worker, posted)` changes the model when all parts have come;
/// - `update(worker, layer)` updates a layer, `update(worker)` all layers.
template <class Way>
Program program_by_layer(const std::vector<GradientPart>& parts, const StepProfile& profile, bool gated, const Compression& compression,
                         const Way& way) {
  const auto messages = by_layer(profile, parts.size(), [&](std::size_t i) { return std::vector<std::size_t>{parts[i].layer}; });
  Seconds decode;
  for (std::size_t i = 0; i < parts.size(); ++i) decode += way.decode(i);
  return [parts, messages, decode, gated, compression, way](Worker& worker) {
    std::vector<typename Way::Posted> posted;
    Sender send(compression, parts.size());
    const auto arrive = [&](std::size_t layer) {
      Seconds of_layer;
      for (std::size_t number = messages[layer].size(); number-- > 0;) {
        const std::size_t i = messages[layer][number];
        way.wait(worker, {&posted[i], 1});
        of_layer += way.decode(i);
      }
      worker.spend(of_layer);
      way.update(worker, layer);
    };
    while (worker.next_step()) {
      if (gated && !posted.empty()) {
        forward_by_layer(worker, messages, arrive);
        worker.apply(worker.step());
        way.take_in(worker, posted);
        worker.dataflow().compute_on_model();
      } else {
        worker.forward();
      }
      posted.clear();
      for (std::size_t i = 0; i < parts.size(); ++i) {
        worker.backward_until(parts[i].ready);
        posted.push_back(way.post(worker, i, send(worker, i, [&] { return worker.dataflow().gradient(); })));
      }
      worker.backward();
      if (gated) continue;
      way.wait(worker, posted);
      worker.spend(decode);
      worker.apply(worker.step());
      way.take_in(worker, posted);
      way.update(worker);
    }
  };
}

/// Parts of gradients over parameter servers; parts of layers near the input go first.
struct PartsOverServers {
  ServerParameters servers{};
  Bytes size{};
  Credit credit{};
  bool by_priority = true;  ///< else in the order of posting
  bool gated = true;        ///< forward goes layer by layer; else the step ends with everything

  Traffic traffic() const;
  Pace pace() const;
  double priority(const GradientPart& part) const { return by_priority ? part.priority : 0.0; }
  Program program(const ScheduleInput& input) const;
};

/// The parts of the model in a record of the dataflow: the parts of gradients if `by_part`, where each is compressed by itself; else one.
std::vector<ModelPart> model_parts(const StepProfile& profile, Bytes size, bool by_part);

/// A note where no tensor is larger than a part; else empty.
std::string note_whole_tensors(const StepProfile& profile, Bytes size);

}  // namespace syncopate
