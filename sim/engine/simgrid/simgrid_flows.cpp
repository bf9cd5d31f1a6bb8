#include "engine/simgrid/simgrid_flows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/errors.hpp"
#include "base/indexed.hpp"

namespace syncopate {

namespace {

/// SimGrid counts whole bytes, of which 2^26 stand for one.
constexpr double exact_scale = 67108864.0;

/// What a link has in an outage. With much less, ends of communications are so far away that SimGrid never comes to them.
constexpr Rate least_bandwidth(1.0);

Communications& configured(const SimGridModel& model) {
  if (const std::string reason = actors().configure(model.settings()); !reason.empty())
    throw SimulationError(fmt::format("SimGrid refuses its settings: {}", reason));
  return actors().communications();
}

}  // namespace

SimGridFlows::SimGridFlows(Network& network, const SimGridModel& model, Clock& clock)
    : network_(network), model_(model), clock_(clock), communications_(configured(model)), scale_(model.is_exact() ? exact_scale : 1.0) {
  for (const Seconds time : network.times_of_changes()) clock_.at(time, [this] { change_links(); });
}

SimGridFlows::~SimGridFlows() { communications_.cancel_all(); }

double SimGridFlows::bandwidth(std::size_t link) const {
  const auto width = widths_.find(link);
  return scale_ * (width == widths_.end() ? 1 : width->second) * std::max(least_bandwidth, network_.bandwidth(link, clock_.now())).value;
}

double SimGridFlows::narrowest(const Route& route) const {
  double least = std::numeric_limits<double>::infinity();
  for (const std::size_t link : route.crossed) least = std::min(least, bandwidth(link));
  return least;
}

std::vector<std::size_t> SimGridFlows::links_of(std::span<const std::size_t> links) {
  std::vector<std::size_t> found;
  for (const std::size_t link : links) {
    if (links_.size() <= link) links_.resize(link + 1);
    const double its = bandwidth(link);
    if (std::isinf(its)) continue;
    if (!links_[link]) links_[link] = communications_.add_link(network_.link(link).name, its, true);
    found.push_back(*links_[link]);
  }
  return found;
}

std::size_t SimGridFlows::host(const Network* network, int rank) {
  const auto [found, is_new] = hosts_.try_emplace({network, rank});
  if (is_new) found->second = communications_.add_host(fmt::format("rank-{}", rank));
  return found->second;
}

std::size_t SimGridFlows::limit(const Path& path) {
  const double rate = scale_ / path.connections() * path.limit_at(clock_.now()).value;
  const auto [found, is_new] = limits_.try_emplace(rate);
  if (is_new) found->second = communications_.add_link("limit", rate, false);
  return found->second;
}

void SimGridFlows::start(const Transfer& transfer, const Moment& now, Ended ended) {
  const Path& path = transfer.path();
  if (transfer.bytes <= Bytes(0) || std::isinf(path.rate.value)) {
    const Seconds end = now.time + (take_latency() ? transfer.latency : Seconds(0));
    return clock_.at(end, [ended = std::move(ended), end] { ended(Moment(end)); });
  }
  if (!path.storage) return move(transfer, path, Part::whole, std::move(ended));
  Transfer half = transfer;  // of the way: the message is stored in its middle
  half.latency = 0.5 * transfer.latency;
  move(half, path, Part::before_storage,
       [this, half, &path, ended = std::move(ended)](const Moment& /*stored*/) { move(half, path, Part::after_storage, ended); });
}

const SimGridFlows::Route& SimGridFlows::route_of(const Transfer& transfer, const Path& path, Part part) {
  const auto [found, is_new] = routes_[static_cast<std::size_t>(part)].try_emplace(&path);
  Route& route = found->second;
  if (!is_new) return route;
  const std::span<const std::size_t> links(path.links);
  if (part == Part::whole) {
    route.crossed = links;
    route.back = links_of(transfer.network->path(transfer.to, transfer.from).links);
  } else {
    route.crossed = part == Part::before_storage ? links.first(path.storage->after) : links.subspan(path.storage->after);
  }
  route.links = links_of(route.crossed);
  route.from = host(transfer.network, transfer.from);
  route.to = host(transfer.network, transfer.to);
  return route;
}

void SimGridFlows::move(const Transfer& transfer, const Path& path, Part part, Ended ended) {
  if (unused_.empty()) {
    unused_.push_back(moving_.size());
    moving_.emplace_back();
  }
  const std::size_t index = unused_.back();
  unused_.pop_back();
  Moving& moving = moving_[index];
  moving.path = &path;
  moving.route = &route_of(transfer, path, part);
  moving.number = started_++;
  moving.ended = std::move(ended);
  moving.communications.resize(at(transfer.alike * path.connections()));
  send(index, transfer.bytes, take_latency() ? transfer.latency : Seconds(0));
}

void SimGridFlows::send(std::size_t index, Bytes bytes, Seconds latency) {
  Moving& moving = moving_[index];
  const Route& route = *moving.route;
  std::vector<std::size_t> limited;
  if (!std::isinf(moving.path->limit_at(clock_.now()).value)) {
    limited = route.links;
    limited.push_back(limit(*moving.path));
  }
  const std::size_t pieces = moving.communications.size();
  const double size = std::max(1.0, std::round(scale_ * bytes.value / static_cast<double>(pieces)));
  if (constexpr double most = 1.8e19; size > most) {
    throw SimulationError(fmt::format("a message of {} bytes is over the {:.2g} that SimGrid counts; use \"fidelity\": \"flow\"",
                                      bytes.value, most / scale_));
  }
  moving.arrived = 0;
  moving.latency = latency;
  if (network_.changes_with_time()) moving.narrowest = narrowest(route);
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    moving.communications[piece] = communications_.send(route.from, route.to, static_cast<std::uint64_t>(size),
                                                        {limited.empty() ? route.links : limited, route.back, latency.value},
                                                        [this, index, piece] { arrived(index, piece); });
  }
}

void SimGridFlows::arrived(std::size_t index, std::size_t piece) {
  Moving& moving = moving_[index];
  moving.communications[piece] = has_arrived;
  if (++moving.arrived < moving.communications.size()) return;
  moving.end = Seconds(actors().now());
  arrived_.push_back(index);
  if (arrived_.size() == 1) clock_.at(moving.end, [this] { tell(); });
}

void SimGridFlows::tell() {
  std::vector<std::size_t> ended = std::exchange(arrived_, {});
  std::sort(ended.begin(), ended.end(), [this](std::size_t a, std::size_t b) { return moving_[a].number < moving_[b].number; });
  for (const std::size_t index : ended) {
    Moving& moved = moving_[index];
    moved.path = nullptr;
    unused_.push_back(index);
    const Seconds end = moved.end;
    const Ended told = std::move(moved.ended);
    told(Moment(end));
  }
}

void SimGridFlows::change_links() {
  for (std::size_t link = 0; link < links_.size(); ++link) {
    if (links_[link] && network_.changes(link)) communications_.set_bandwidth(*links_[link], bandwidth(link));
  }
  // SimGrid keeps a communication below what its links had when it began: it begins anew with the bytes that are left. Its latency, by
  // which SimGrid shares links, comes once more.
  for (std::size_t index = 0; index < moving_.size(); ++index) {
    Moving& moving = moving_[index];
    if (moving.path == nullptr || moving.arrived > 0) continue;
    const auto changes = [this](std::size_t link) { return network_.changes(link); };
    const std::span<const std::size_t> crossed = moving.route->crossed;
    const bool is_met = model_.fair ? moving.path->latency_changes() || std::any_of(crossed.begin(), crossed.end(), changes)
                                    : narrowest(*moving.route) > moving.narrowest;
    if (!is_met) continue;
    const Bytes left(static_cast<double>(moving.communications.size()) * communications_.remaining(moving.communications.front()) / scale_);
    for (const std::size_t number : moving.communications) communications_.cancel(number);
    send(index, left, moving.latency);
  }
}

}  // namespace syncopate
