#include "schedule/by_layer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/errors.hpp"
#include "base/unit_columns.hpp"
#include "schedule/sender.hpp"

namespace syncopate {

namespace {

double count_parts(Bytes tensor, Bytes size) { return std::max(1.0, std::ceil(tensor / size)); }

}  // namespace

double count_parts(const StepProfile& profile, Bytes size) {
  double count = 0.0;
  for (const StepProfile::GradientReady& gradient : profile.gradients) count += count_parts(gradient.bytes, size);
  return count;
}

std::vector<GradientPart> partition(const StepProfile& profile, Bytes size) {
  constexpr double most = 1e6;
  if (const double count = count_parts(profile, size); count > most) {
    throw SimulationError(
        fmt::format("a partition of {} cuts the gradients into {:.3g} parts, and at most {:g} can be simulated; make it larger",
                    format_bytes(size), count, most));
  }
  constexpr double most_parts = 4294967296.0;  // of a tensor, so that a priority is an integer
  std::vector<GradientPart> parts;
  for (std::size_t i = 0; i < profile.gradients.size(); ++i) {
    const StepProfile::GradientReady& gradient = profile.gradients[i];
    const auto count = static_cast<std::size_t>(count_parts(gradient.bytes, size));
    for (std::size_t number = 0; number < count; ++number) {
      const Bytes bytes = number + 1 < count ? size : gradient.bytes - static_cast<double>(number) * size;
      auto payload = std::make_shared<Payload>(
          Payload{count == 1 ? gradient.name : fmt::format("{}[{}]", gradient.name, number), {{static_cast<int>(i), bytes}}, bytes});
      parts.push_back({gradient.ready, gradient.layer, static_cast<double>(gradient.layer) * most_parts + static_cast<double>(number),
                       std::move(payload)});
    }
  }
  return parts;
}

std::vector<ModelPart> model_parts(const StepProfile& profile, Bytes size, bool by_part) {
  if (!by_part) return {};
  std::vector<ModelPart> all;
  for (const GradientPart& part : partition(profile, size)) all.push_back({part.payload->label, part.payload->bytes});
  return all;
}

std::string note_whole_tensors(const StepProfile& profile, Bytes size) {
  const auto largest =
      std::max_element(profile.gradients.begin(), profile.gradients.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  if (largest->bytes > size) return "";
  return fmt::format("no tensor is larger than a partition of {}: the largest, {}, has {}, and all are sent whole", format_bytes(size),
                     largest->name, format_bytes(largest->bytes));
}

Traffic PartsOverServers::traffic() const {
  Traffic traffic = servers.traffic(false, synchronous_rule);
  traffic.servers->overlaps = true;
  traffic.servers->by_priority = credit;
  return traffic;
}

Pace PartsOverServers::pace() const {
  return {.waits_for_all = true,
          .updates_in_forward = gated,

          .is_sgd = servers.compression.is_none(),
          .is_lossy = !servers.compression.is_none(),
          .servers_update = true,
          .update = [](const StepProfile&) { return Seconds(0); }};
}

Program PartsOverServers::program(const ScheduleInput& input) const {
  struct Sent {
    GradientPart part;
    ServerPost message;
  };
  std::vector<Sent> parts;
  for (const GradientPart& part : partition(input.profile, size)) parts.push_back({part, ServerPost(servers, part.payload, input.value)});
  const auto messages = by_layer(input.profile, parts.size(), [&](std::size_t i) { return std::vector<std::size_t>{parts[i].part.layer}; });
  Seconds decode;
  for (const Sent& part : parts) decode += part.message.decode();
  return [parts, messages, decode, gated = gated, by_priority = by_priority, compression = servers.compression](Worker& worker) {
    std::vector<Exchange> pushed;
    Sender send(compression, parts.size());
    const auto arrive = [&](std::size_t layer) {
      Seconds decode_layer;
      for (const std::size_t i : messages[layer]) {
        worker.wait(pushed[i]);
        decode_layer += parts[i].message.decode();
      }
      worker.spend(decode_layer);
    };
    const auto take_in = [&] {
      worker.apply(worker.step());
      worker.replica().become(worker.pulled_by(pushed));
    };
    while (worker.next_step()) {
      if (gated && !pushed.empty()) {
        forward_by_layer(worker, messages, arrive);
        take_in();
        worker.compute_on_model();
      } else {
        worker.forward();
      }
      pushed.clear();
      for (std::size_t i = 0; i < parts.size(); ++i) {
        worker.backward_until(parts[i].part.ready);
        const PushOptions options = {.priority = by_priority ? parts[i].part.priority : 0.0,
                                     .value = send(worker, i, [&] { return worker.gradient(); })};
        pushed.push_back(parts[i].message.push(worker, worker.step(), Answer::all, options));
      }
      worker.backward();
      if (gated) continue;
      worker.wait(pushed);
      worker.spend(decode);
      take_in();
    }
  };
}

}  // namespace syncopate
