#include "engine/flows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <simgrid/s4u/Link.hpp>

#include "base/errors.hpp"

namespace syncopate {

namespace s4u = simgrid::s4u;

namespace {

Flows* listening = nullptr;  ///< to the process's signal

}  // namespace

Flows::Flows(Network& network, Clock& clock) : network_(network), clock_(clock) {
  static const bool is_connected = [] {
    s4u::Activity::on_completion_cb([](const s4u::Activity& activity) {
      const auto* comm = dynamic_cast<const s4u::Comm*>(&activity);
      if (listening == nullptr || comm == nullptr || comm->get_state() != s4u::Activity::State::FINISHED) return;
      listening->note_end(comm->get_data<Flow>()->index);
    });
    return true;
  }();
  listening = is_connected ? this : nullptr;
  for (const Network::Change& next : network.changes()) clock_.at(next.at, [this, &next] { change(next); });
}

Flows::~Flows() { listening = nullptr; }

void Flows::start(int from, int to, Bytes bytes, Ended ended) {
  const double units = std::round(network_.scale() * bytes.value);
  constexpr double most_units = 0x1p63;
  if (units > most_units) throw SimulationError(fmt::format("a message of {} bytes is longer than any that was expected", bytes.value));
  if (units < 1.0) {
    clock_.at(clock_.now(), [ended = std::move(ended), now = clock_.now()] { ended(now); });
    return;
  }
  if (unused_.empty()) {
    unused_.push_back(flows_.size());
    flows_.emplace_back();
  }
  const std::size_t index = unused_.back();
  unused_.pop_back();
  flows_[index] = {index, nullptr, std::move(ended), started_++, from, to};
  move(index, static_cast<std::uint64_t>(units));
}

void Flows::move(std::size_t flow, std::uint64_t units) {
  const auto [source, target] = network_.hosts(flows_[flow].from, flows_[flow].to);
  s4u::CommPtr& comm = flows_[flow].comm;
  comm = s4u::Comm::sendto_init(source, target);
  comm->set_payload_size(units);
  comm->set_data(&flows_[flow]);
  comm->start();
}

void Flows::change(const Network::Change& change) {
  change.link->set_bandwidth(change.bandwidth);
  for (std::size_t flow = 0; flow < flows_.size(); ++flow) {
    if (!flows_[flow].comm || std::find(ended_.begin(), ended_.end(), flow) != ended_.end()) continue;
    const std::vector<std::size_t>& links = network_.path(flows_[flow].from, flows_[flow].to).links;
    if (std::none_of(links.begin(), links.end(),
                     [&](std::size_t link) { return network_.changes(link) && network_.link(link).name == change.name; }))
      continue;
    const double left = std::round(flows_[flow].comm->get_remaining());
    if (left < 1.0) continue;
    cancelled_.push_back(flows_[flow].comm);
    cancelled_.back()->cancel();
    move(flow, static_cast<std::uint64_t>(left));
  }
}

void Flows::note_end(std::size_t flow) {
  ended_.push_back(flow);
  if (ended_.size() == 1) clock_.at(clock_.now(), [this] { tell(); });
}

void Flows::tell() {
  std::vector<std::size_t> ended;
  ended.swap(ended_);
  std::sort(ended.begin(), ended.end(), [this](std::size_t a, std::size_t b) { return flows_[a].number < flows_[b].number; });
  const Seconds now = clock_.now();
  for (const std::size_t index : ended) {
    const Ended tell = std::move(flows_[index].ended);
    flows_[index] = {};
    unused_.push_back(index);
    tell(now);
  }
}

}  // namespace syncopate
