#include "engine/worker/collectives.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/errors.hpp"
#include "base/indexed.hpp"
#include "engine/job_run.hpp"

namespace syncopate {

Collectives::Collectives(WorkerState& worker, std::vector<Stream*> streams) : worker_(worker), streams_(std::move(streams)) {}

Stream& Collectives::stream(int row) const {
  if (at(row) >= streams_.size())
    throw SimulationError(fmt::format("a program uses stream {}, but its job has {} streams", row, streams_.size()));
  return *streams_[at(row)];
}

const Communicator& Collectives::group(int row) const { return stream(row).communicator(); }

Handle Collectives::post(const SharedPayload& payload, int round, const PostOptions& options) {
  Stream& stream = this->stream(options.stream);
  const int rank = worker_.rank();
  const int members = stream.communicator().size();
  worker_.count_post(1, contribution(options.operation, payload->bytes, members), sent_in_ring(options.operation, payload->bytes, members));
  const Post post = {options.operation, round, payload, options.priority};
  if (options.after) return post_after(*options.after, stream, post, options);
  // Ticket and value before stream.post(): once the last rank has posted, others may go on and ask for the value.
  const Handle handle = {options.stream, stream.next_ticket(rank)};
  PostedValues& posted = worker_.job().posted_values();
  if (!options.value.empty()) posted.post(stream.index(), handle.ticket, rank, options.value);
  if (worker_.is_recorded() && options.operation == Operation::broadcast) posted.expect(stream.index(), handle.ticket);
  stream.post(rank, post, counts_at(payload, options.delay));
  tie(handle, {.before = worker_.now(), .after = worker_.now(), .delay = options.delay, .posts = true});
  return handle;
}

Moment Collectives::counts_at(const SharedPayload& payload, Seconds delay) const {
  if (delay == Seconds(0)) return worker_.moment();
  return after(worker_.moment(), delay, {.kind = PathClass::host, .worker = worker_.rank(), .payload = &payload});
}

Handle Collectives::post_after(Handle before, Stream& stream, const Post& post, const PostOptions& options) {
  following_.resize(streams_.size());
  const Handle handle = {options.stream, following_[at(options.stream)]++};
  Stream& first = this->stream(before.stream);
  first.when_known(worker_.rank(), before.ticket,
                   [this, &first, &stream, before, handle, post, counts = counts_at(post.payload, options.delay)](const Moment& end) {
                     PostedValues& posted = worker_.job().posted_values();
                     const Values mean = posted.mean(first.index(), before.ticket);
                     if (!mean.empty()) posted.post(stream.index(), handle.ticket, worker_.rank(), mean);
                     stream.post(worker_.rank(), post, latest(end, counts));
                   });
  return handle;
}

bool Collectives::has_ended(Handle handle) {
  worker_.meet_clock();
  const bool has_ended = stream(handle.stream).has_ended(worker_.rank(), handle.ticket, worker_.now());
  if (has_ended) tie(handle, {.before = worker_.now(), .after = worker_.now()});
  return has_ended;
}

void Collectives::wait(Handle handle) {
  const Seconds before = worker_.now();
  const Moment end = stream(handle.stream).wait(worker_.rank(), handle.ticket);
  worker_.unblock(end);
  tie(handle, {.before = before, .after = worker_.now(), .ended = end.time});
}

void Collectives::wait(std::span<const Handle> handles) {
  // From the newest, which usually ends last: then the other waits return at once.
  for (std::size_t i = handles.size(); i-- > 0;) wait(handles[i]);
}

void Collectives::tie(Handle handle, Tie tie) const {
  tie.stream = stream(handle.stream).index();
  tie.number = static_cast<std::int32_t>(handle.ticket);
  worker_.job().recorder().tie(worker_.rank(), tie);
}

Values Collectives::mean_of(Handle handle) const {
  return worker_.job().posted_values().mean(stream(handle.stream).index(), handle.ticket);
}

Values Collectives::mean_of(std::span<const Handle> handles) const {
  Values all;
  if (!worker_.is_recorded()) return all;
  for (const Handle handle : handles) all.append(mean_of(handle));
  return all;
}

bool Collectives::has_missed(int row) const { return stream(row).has_missed(worker_.rank()); }

bool Collectives::is_expected(int row) const {
  worker_.meet_clock();
  worker_.let_others_post();
  return stream(row).is_expected(worker_.rank());
}

}  // namespace syncopate
