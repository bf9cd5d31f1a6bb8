#include "engine/flows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/errors.hpp"
#include "engine/clock.hpp"

namespace syncopate {

namespace s4u = simgrid::s4u;

Flows::Flows(const Network& network) : network_(network) {
  s4u::Activity::on_completion_cb([this](const s4u::Activity& activity) {
    if (const auto* comm = dynamic_cast<const s4u::Comm*>(&activity)) note_end(reinterpret_cast<std::size_t>(comm->get_data<void>()));
  });
}

void Flows::start(int from, int to, Bytes bytes, Ended ended) {
  const double units = std::round(network_.scale() * bytes.value);
  constexpr double most_units = 0x1p63;
  if (units > most_units) throw SimulationError(fmt::format("a message of {} bytes is longer than any that was expected", bytes.value));
  if (units < 1.0) {
    call_at(clock_now(), [ended = std::move(ended), now = clock_now()] { ended(now); });
    return;
  }
  if (unused_.empty()) {
    unused_.push_back(flows_.size());
    flows_.emplace_back();
  }
  const std::size_t index = unused_.back();
  unused_.pop_back();
  const auto [source, target] = network_.hosts(from, to);
  Flow& flow = flows_[index];
  flow = {s4u::Comm::sendto_init(source, target), std::move(ended), started_++};
  flow.comm->set_payload_size(static_cast<std::uint64_t>(units));
  flow.comm->set_data(reinterpret_cast<void*>(index));
  flow.comm->start();
}

void Flows::note_end(std::size_t flow) {
  ended_.push_back(flow);
  if (ended_.size() == 1) call_at(clock_now(), [this] { tell(); });
}

void Flows::tell() {
  std::vector<std::size_t> ended;
  ended.swap(ended_);
  std::sort(ended.begin(), ended.end(), [this](std::size_t a, std::size_t b) { return flows_[a].number < flows_[b].number; });
  const Seconds now = clock_now();
  for (const std::size_t index : ended) {
    const Ended tell = std::move(flows_[index].ended);
    flows_[index] = {};
    unused_.push_back(index);
    tell(now);
  }
}

}  // namespace syncopate
