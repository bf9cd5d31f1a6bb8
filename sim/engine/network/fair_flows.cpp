#include "engine/network/fair_flows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace syncopate {

FairFlows::FairFlows(Network& network, Clock& clock) : network_(network), clock_(clock) {
  for (const Seconds time : network.times_of_changes()) clock_.at(time, [this] { change_links(); });
}

void FairFlows::change_links() {
  for (std::size_t link = 0; link < network_.count_links(); ++link) {
    if (network_.changes(link) && rates_.knows(link)) rates_.set_bandwidth(link, bandwidth(link));
  }
  for (std::size_t index = 0; index < flows_.size(); ++index) {
    const Flow& flow = flows_[index];
    if (flow.path != nullptr && flow.path->latency_changes()) rates_.set_limit(index, flow.alike * flow.path->limit_at(clock_.now()));
  }
  share_soon();
}

void FairFlows::widen(std::size_t link, int width) { widths_[link] = width; }

Rate FairFlows::bandwidth(std::size_t link) const {
  const auto width = widths_.find(link);
  return (width == widths_.end() ? 1 : width->second) * network_.bandwidth(link, clock_.now());
}

void FairFlows::start(const Transfer& transfer, const Moment& now, Ended ended) {
  const Path& path = transfer.path();
  if (transfer.bytes <= Bytes(0) || std::isinf(path.rate.value))
    return clock_.at(now.time, [ended = std::move(ended), now] { ended(now); });
  const std::span<const std::size_t> links(path.links);
  if (!path.storage) return move(transfer, path, links, now, std::move(ended));
  move(transfer, path, links.first(path.storage->after), now,
       [this, transfer, &path, links, ended = std::move(ended)](const Moment& stored) {
         move(transfer, path, links.subspan(path.storage->after), stored, ended);
       });
}

void FairFlows::move(const Transfer& transfer, const Path& path, std::span<const std::size_t> links, const Moment& now, Ended ended) {
  if (links.empty()) {  // it shares none
    const Why why = {.kind = PathClass::transfer, .worker = transfer.to, .link = network_.group_between(transfer.from, transfer.to)};
    const Moment end = after(now, transfer.bytes / (transfer.alike * path.limit_at(clock_.now())), why);
    return clock_.at(end.time, [ended = std::move(ended), end] { ended(end); });
  }
  for (const std::size_t link : links) {
    if (!rates_.knows(link)) rates_.set_bandwidth(link, bandwidth(link));
  }
  if (unused_.empty()) {
    unused_.push_back(flows_.size());
    flows_.emplace_back();
  }
  const std::size_t index = unused_.back();
  unused_.pop_back();
  flows_[index] = {.ended = std::move(ended),
                   .path = &path,
                   .number = started_++,
                   .bytes = transfer.bytes,
                   .left = transfer.bytes,
                   .since = now.time,
                   .rate = Rate(0),
                   .alike = transfer.alike,
                   .moved = now,
                   .to = transfer.to,
                   .payload = now.cause ? transfer.payload : nullptr,
                   .watched = transfer.watched,
                   .end = {}};
  rates_.add(index, links, transfer.alike * path.limit_at(clock_.now()), transfer.alike * path.connections());
  share_soon();
}

void FairFlows::share_soon() {
  if (changed_at_) return;
  changed_at_ = clock_.now();
  clock_.after(*changed_at_ * (1.0 + rounding), [this] { share(); });
}

void FairFlows::share() {
  const Seconds changed_at = *std::exchange(changed_at_, std::nullopt);
  for (const std::size_t index : rates_.update()) {
    Flow& flow = flows_[index];
    const bool is_new = flow.rate == Rate(0);
    if (!is_new) {
      flow.left = std::max(Bytes(0), flow.left - flow.rate * (changed_at - flow.since));
      flow.since = changed_at;
    }
    flow.rate = rates_.rate(index);
    if (flow.moved.cause) note_limit(flow, index, changed_at);
    if (flow.watched != nullptr) watch(flow, index, is_new);
    const End end = {flow.since + flow.left / flow.rate, index};
    if (is_new) {
      flow.end = ends_.push(end);
    } else {
      ends_.update(flow.end, end);
    }
  }
  call_at_next_end();
}

void FairFlows::note_limit(Flow& flow, std::size_t index, Seconds now) {
  const Why why = {.kind = PathClass::transfer, .worker = flow.to, .link = network_.group(rates_.limiting_link(index))};
  if (why.link == flow.why.link) return;
  flow.why.payload = &flow.payload;
  const bool had_one = flow.why.link >= 0;
  if (had_one && now > flow.moved.time) flow.moved = until(flow.moved, now, flow.why);
  flow.why = why;
}

void FairFlows::watch(Flow& flow, std::size_t index, bool is_new) {
  Watched& watched = *flow.watched;
  if (!is_new && !flow.path->storage) watched.changes.push_back({flow.since, 1.0 - flow.left / flow.bytes});
  if (flow.rate < (1.0 - rounding) * watched.slowest) {
    watched.slowest = flow.rate;
    watched.link = static_cast<int>(rates_.limiting_link(index));
  }
}

void FairFlows::call_at_next_end() {
  if (ends_.empty() || (called_at_ && *called_at_ <= ends_.top().time)) return;
  called_at_ = ends_.top().time;
  clock_.at(*called_at_, [this, call = ++calls_] {
    if (call != calls_) return;
    called_at_.reset();
    end_flows();
  });
}

void FairFlows::end_flows() {
  const Seconds now = clock_.now();
  for (; !ends_.empty() && ends_.top().time <= now * (1.0 + rounding); ends_.pop()) {
    rates_.remove(ends_.top().flow);
    ended_.push_back(ends_.top());
  }
  if (!ended_.empty()) share_soon();
  std::sort(ended_.begin(), ended_.end(), [this](const End& a, const End& b) { return flows_[a.flow].number < flows_[b.flow].number; });
  for (const End& end : std::exchange(ended_, {})) {
    unused_.push_back(end.flow);
    flows_[end.flow].path = nullptr;
    Flow& flow = flows_[end.flow];
    const Ended tell = std::move(flow.ended);
    flow.why.payload = &flow.payload;
    const Moment moved = until(std::exchange(flow.moved, {}), end.time, flow.why);
    flow.payload = nullptr;
    tell(moved);
  }
  call_at_next_end();
}

}  // namespace syncopate
