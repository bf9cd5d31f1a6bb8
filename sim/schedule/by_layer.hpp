#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "collective/payload.hpp"
#include "engine/worker.hpp"
#include "schedule/schedule.hpp"
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

/// Parts of such a size and, of each tensor, a last one of what remains, in the order in which they are ready. ByteScheduler, SOSP'19.
std::vector<GradientPart> partition(const StepProfile& profile, Bytes size);
/// So many there are.
double count_parts(const StepProfile& profile, Bytes size);

/// By layer of the network, which of `count` messages have gradients of it: `carried(i)` lists the layers of the i-th.
template <class Carried>
std::vector<std::vector<std::size_t>> by_layer(const StepProfile& profile, std::size_t count, Carried&& carried) {
  std::vector<std::vector<std::size_t>> messages(profile.layers.size());
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::size_t layer : carried(i)) messages[layer].push_back(i);
  }
  return messages;
}

/// Forward, each layer with gradients once `take_in(layer)` has waited for these and updated it.
template <class TakeIn>
void forward_by_layer(Worker& worker, const std::vector<std::vector<std::size_t>>& messages, TakeIn&& take_in) {
  for (std::size_t layer = 0; layer < messages.size(); ++layer) {
    if (!messages[layer].empty()) take_in(layer);
    worker.forward(layer);
  }
}

/// Parts of gradients over parameter servers, of which those of layers near the input go first.
struct PartsOverServers {
  ServerParameters servers{};
  Bytes size{};
  Credit credit{};
  bool by_priority = true;  ///< else in the order of posting
  bool gated = true;        ///< forward goes layer by layer; else the step ends with everything

  Traffic traffic() const;
  Pace pace() const;
  Program program(const ScheduleInput& input) const;
};

/// What a record of the dataflow has as parts: those of the gradients if each is compressed by itself, else the model.
std::vector<ModelPart> model_parts(const StepProfile& profile, Bytes size, bool by_part);

/// That a part is as large as any tensor, if it is.
std::string note_whole_tensors(const StepProfile& profile, Bytes size);

}  // namespace syncopate
