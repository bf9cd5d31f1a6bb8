// What a Stream says of ranks that disagree or wait.
#include <fmt/format.h>

#include <algorithm>

#include "base/errors.hpp"
#include "base/text.hpp"
#include "engine/streams/stream.hpp"

namespace syncopate {

void Stream::fail_for_stranger(int rank) const {
  throw SimulationError(fmt::format("rank {} is no member of the communicator of stream {}", rank, index_));
}

void Stream::check_operation(int rank, const Post& post) const {
  if (operations_.empty() || std::find(operations_.begin(), operations_.end(), post.operation) != operations_.end()) return;
  throw SimulationError(fmt::format("rank {} posted {} of \"{}\" to stream {}, whose traffic does not say so; add the operation there",
                                    rank, to_string(post.operation), post.payload->label, index_));
}

void Stream::fail_for_disagreement(int rank, const Post& post, const Entry& entry, Ticket ticket) const {
  const Post& first = entry.post;
  if (first.priority != post.priority) {
    throw SimulationError(
        fmt::format("ranks disagree on collective {} of stream {} (\"{}\", round {}): rank {} posted it with priority {}, "
                    "rank {} with priority {}; give it the same on every rank",
                    ticket, index_, first.payload->label, first.round, entry.first_rank, first.priority, rank, post.priority));
  }
  throw SimulationError(
      fmt::format("ranks disagree on collective {} of stream {}: rank {} posted {} of \"{}\" in round {}, rank {} posted {} of \"{}\" in "
                  "round {}; every rank must post the same collectives in the same order",
                  ticket, index_, entry.first_rank, to_string(first.operation), first.payload->label, first.round, rank,
                  to_string(post.operation), post.payload->label, post.round));
}

bool Stream::is_awaited_from(int rank) const {
  for (Ticket ticket = std::max(forgotten_, next_[poster(rank)]); ticket < end_of_entries(); ++ticket) {
    if (!entry(ticket).waiters.empty()) return true;
  }
  return false;
}

std::string Stream::describe_waits() const {
  std::string text;
  for (Ticket ticket = forgotten_; ticket < end_of_entries(); ++ticket) {
    const Entry& its = entry(ticket);
    if (its.waiters.empty()) continue;
    std::vector<int> waiting;
    for (const Waiter& waiter : its.waiters) waiting.push_back(communicator_.rank(static_cast<int>(waiter.poster)));
    std::sort(waiting.begin(), waiting.end());
    std::vector<int> posted;
    std::vector<int> missing;
    for (std::size_t poster = 0; poster < next_.size(); ++poster) {
      (next_[poster] > ticket ? posted : missing).push_back(communicator_.rank(static_cast<int>(poster)));
    }
    const Payload& payload = *its.post.payload;
    text += fmt::format("{}{} {} of stream {} (\"{}\", {} B, round {}) is awaited by {}, posted by {}, not posted by {}",
                        text.empty() ? "" : "; ", to_string(its.post.operation), ticket, index_, payload.label, payload.bytes.value,
                        its.post.round, describe_ranks(waiting), describe_ranks(posted), describe_ranks(missing));
  }
  return text;
}

}  // namespace syncopate
