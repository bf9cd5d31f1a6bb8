#include "schedule/by_layer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>

#include "base/text.hpp"
#include "schedule/posts.hpp"

namespace syncopate {

double count_parts(const StepProfile& profile, Bytes size) {
  double count = 0.0;
  for (const StepProfile::GradientReady& gradient : profile.gradients) count += count_parts(gradient.bytes, size);
  return count;
}

std::vector<GradientPart> partition(const StepProfile& profile, Bytes size) {
  check_parts(count_parts(profile, size), size);
  constexpr double most_parts = 4294967296.0;  // per tensor, so that every priority is an exact integer
  std::vector<GradientPart> parts;
  for (std::size_t i = 0; i < profile.gradients.size(); ++i) {
    const StepProfile::GradientReady& gradient = profile.gradients[i];
    const auto whole = std::make_shared<Payload>(Payload{gradient.name, {{static_cast<int>(i), gradient.bytes}}, gradient.bytes});
    double priority = static_cast<double>(gradient.layer) * most_parts;
    for (SharedPayload& part : cut(whole, size)) parts.push_back({gradient.ready, gradient.layer, priority++, std::move(part)});
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
  return {.steps_before_warmup = gated ? 1 : 0,
          .waits_for_all = true,
          .updates_in_forward = gated,
          .is_sgd = servers.compression.is_none(),
          .is_lossy = !servers.compression.is_none(),
          .servers_update = true,
          .update = [](const StepProfile&) { return Seconds(0); }};
}

namespace {

struct OverServers {
  using Posted = Exchange;

  Exchange post(Worker& worker, std::size_t i, const Values& value) const {
    return messages[i].push(worker, worker.step(), Answer::all, {.priority = priorities[i], .value = value});
  }
  static void wait(Worker& worker, std::span<const Exchange> pushed) { worker.servers().wait(pushed); }
  Seconds decode(std::size_t i) const { return messages[i].decode(); }
  static void take_in(Worker& worker, const std::vector<Exchange>& pushed) {
    worker.dataflow().replica().become(worker.servers().pulled_by(pushed));
  }
  static void update(Worker& /*worker*/, std::size_t /*layer*/) {}  // the servers update
  static void update(Worker& /*worker*/) {}

  std::vector<ServerPost> messages{};
  std::vector<double> priorities{};
};

}  // namespace

Program PartsOverServers::program(const ScheduleInput& input) const {
  const std::vector<GradientPart> parts = partition(input.profile, size);
  OverServers way;
  for (const GradientPart& part : parts) {
    way.messages.emplace_back(servers, part.payload, input.value);
    way.priorities.push_back(priority(part));
  }
  return program_by_layer(parts, input.profile, gated, servers.compression, way);
}

}  // namespace syncopate
