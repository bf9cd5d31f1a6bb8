#include "run/crossings.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace syncopate {

void visit_collectives(const JobTimeline& timeline, PlannedCollectives& planned,
                       const std::function<void(const MovingCollective& collective)>& visit) {
  std::map<std::pair<int, const Payload*>, Seconds> lasted;
  for (const CollectiveSpan& span : timeline.collectives) {
    Seconds& as_before = lasted[{span.stream, span.payload.get()}];
    if (!span.is_cut_off) as_before = span.end - span.start;
    const Seconds end = span.is_cut_off ? std::max(span.end, span.start + as_before) : span.end;
    const Communicator& communicator = timeline.streams[static_cast<std::size_t>(span.stream)];
    visit({span, planned(span.operation, communicator, span.payload->bytes), {span.start, end}});
  }
}

Legs::Legs(const JobTimeline& timeline, const Setup& setup)
    : ranks_(setup.ranks()), stands_for_(timeline.steps.size() == 1 ? ranks_ : 1), servers_(setup.network().server_ranks()) {}

std::vector<Leg> Legs::of(TransferSpan::Kind kind, int worker, int to) const {
  std::vector<Leg> legs;
  for (int other = 0; other < stands_for_; ++other) {
    const int rank = (worker + other) % ranks_;
    if (kind == TransferSpan::Kind::send) {
      legs.push_back({rank, (to + other) % ranks_, 1.0});
      continue;
    }
    for (const int server : servers_) {
      const double share = 1.0 / static_cast<double>(servers_.size());
      const bool is_push = kind == TransferSpan::Kind::push;
      if (server != rank) legs.push_back(is_push ? Leg{rank, server, share} : Leg{server, rank, share});
    }
  }
  return legs;
}

const CrossedLinks::Shares& CrossedLinks::operator()(const MessageSpan& message) {
  const auto [entry, is_new] = known_.try_emplace({message.kind, message.worker, message.to});
  if (!is_new) return entry->second;
  std::map<std::size_t, double> shares;
  for (const Leg& leg : legs_.of(message.kind, message.worker, message.to)) {
    for (const std::size_t link : network_.path(leg.from, leg.to).links) shares[link] += leg.share;
  }
  entry->second.assign(shares.begin(), shares.end());
  return entry->second;
}

}  // namespace syncopate
