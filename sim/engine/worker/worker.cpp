#include "engine/worker/worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/errors.hpp"
#include "base/random.hpp"
#include "engine/job_run.hpp"
#include "engine/worker/compute_events.hpp"

namespace syncopate {

namespace {

/// The largest of what a rank's GPUs give.
template <class Function>
double largest(int rank, int gpus, Function&& value) {
  double result = 0.0;
  for (int gpu = rank * gpus; gpu < (rank + 1) * gpus; ++gpu) result = std::max(result, value(gpu));
  return result;
}

}  // namespace

Worker::Worker(JobRun& job, int rank, std::vector<Stream*> streams)
    : job_(job),
      rank_(rank),
      streams_(std::move(streams)),
      pauses_(job.job().speed.pauses_of(rank * job.job().gpus_per_rank, job.job().gpus_per_rank)),
      absences_(job.job().speed.absences_of(rank * job.job().gpus_per_rank, job.job().gpus_per_rank)),
      slowness_(largest(rank, job.job().gpus_per_rank, [&](int gpu) { return job.job().speed.slowness(gpu); })),
      forward_(job.passes().forward, Phase::forward),
      backward_(job.passes().backward, Phase::backward),
      is_recorded_(job.job().dataflow != nullptr),
      replica_(job.job().dataflow.get(), Dataflow::Makers::many) {
  if (job.job().records_causes) now_ = Moment::origin();
  if (job.job().start > Seconds(0)) now_ = until(now_, job.job().start, {.kind = PathClass::pause, .worker = rank});
  recorded_ = now();
}

int Worker::ranks() const { return job_.job().ranks; }

const Communicator& Worker::group(int row) const { return stream(row).communicator(); }

bool Worker::next_step() {
  meet_clock();
  if (!be_there() || !job_.begin_step(*this, now_)) return false;
  factor_ = largest(rank_, job_.job().gpus_per_rank, [this](int gpu) { return job_.job().speed.compute_factor(gpu, step_); });
  forward_.end();
  backward_.end();
  gradient_ = Values();
  updated_ = Seconds(0);
  joined_.clear();
  has_given_up_ = false;
  return true;
}

bool Worker::be_there() {
  has_joined_ = false;
  const auto absence = std::find_if(absences_.begin(), absences_.end(), [this](const Absence& one) {
    return one.start <= now() * (1.0 + rounding) && now() * (1.0 + rounding) < one.end;
  });
  if (absence == absences_.end()) return true;
  job_.leave(*this);
  if (job_.finished()) return false;
  Completion completion(job_.clock());
  const bool returns = std::isfinite(absence->end.value);
  if (returns) job_.clock().at(absence->end, [&] { completion.complete(now_); });
  completion.wait();
  now_ = until(now_, absence->end, {.kind = PathClass::pause, .worker = rank_});
  recorded_ = now();
  has_joined_ = true;
  return job_.join(*this);
}

void Worker::begin_round() {
  meet_clock();
  ++round_;
  job_.begin_round(*this, now_);
}

void Worker::run_until(Pass& pass, Seconds done) {
  if (has_given_up_) return;
  if (!pass.has_begun()) pass.begin(now(), factor_);
  pass.resume(now());
  if (job_.layer_by_layer()) begin_layers_until(pass, done);
  if (has_given_up_ || done <= pass.done()) return;
  const bool has_work = done - pass.done() > rounding * pass.total();  // of which a pause can hold up the rest
  reach(pass, done, has_work ? std::max(now(), pass.time_of(done, pauses_)) : now());
}

void Worker::reach(Pass& pass, Seconds done, Seconds end) {
  Moment then = end_of(pass, done, end);
  if (gives_up_before(then)) {
    for (std::size_t layer = pass.recorded; layer < pass.layers() && pass.time_of(pass.layer_end(layer), pauses_) <= now(); ++layer) {
      pass.reach(pass.layer_end(layer), now());
    }
    return record_layers(pass);
  }
  pass.reach(done, end);
  record_layers(pass);
  advance_to(std::move(then));
}

void Worker::begin_layers_until(Pass& pass, Seconds done) {
  // A layer that ends just when a gradient is ready is followed by the next one only after the gradient's post.
  for (; pass.begun < pass.layers() && pass.layer_begin(pass.begun) < done * (1.0 - rounding); ++pass.begun) {
    const Seconds begin = pass.layer_begin(pass.begun);
    if (begin > pass.done()) {
      reach(pass, begin, pass.time_of(begin, pauses_));
      if (has_given_up_) return;
    }
    if (pass.layer_end(pass.begun) == begin) continue;
    const double factor = layer_factor();
    if (has_given_up_) return;
    pass.change_pace(now(), factor);
  }
}

double Worker::layer_factor() {
  Moment goes_on = until(now_, end_of_pause(now(), pauses_), {.kind = PathClass::pause, .worker = rank_});
  if (gives_up_before(goes_on)) return 1.0;
  advance_to(std::move(goes_on));
  meet_clock();
  let_others_post();
  return factor_ * (1.0 + job_.channel_use(rank_, now()) * job_.job().speed.overlap_slowdown);
}

void Worker::run_layer(Pass& pass, std::size_t layer) {
  if (!pass.has_begun()) pass.begin(now(), factor_);
  if (pass.done() > pass.asked_until) {  // the pass has gone on otherwise
    while (pass.asked < pass.layers() && pass.layer_end(pass.asked) <= pass.done()) ++pass.asked;
  }
  if (pass.asked == pass.layers() || pass.layer_index(pass.asked) != layer) {
    throw SimulationError(fmt::format("rank {} asked for {} of layer {} where {} is next", rank_,
                                      pass.phase() == Phase::forward ? "forward" : "backward", layer,
                                      pass.asked == pass.layers() ? "no layer" : fmt::format("layer {}", pass.layer_index(pass.asked))));
  }
  pass.asked_until = pass.layer_end(pass.asked++);
  run_until(pass, pass.asked_until);
  record(pass.phase());
}

void Worker::begin_forward() {
  if (is_recorded() && !forward_.has_begun()) computed_on_ = replica_.model();
}

void Worker::forward() {
  begin_forward();
  run_until(forward_, forward_.total());
  record(Phase::forward);
}

void Worker::forward(std::size_t layer) {
  begin_forward();
  run_layer(forward_, layer);
}

void Worker::backward_until(Seconds ready) { run_until(backward_, ready); }

void Worker::backward() {
  run_until(backward_, backward_.total());
  record(Phase::backward);
}

void Worker::backward(std::size_t layer) { run_layer(backward_, layer); }

void Worker::update() { update_for(std::max(Seconds(0), job_.job().profile.update - updated_)); }

void Worker::update(std::size_t layer) {
  const StepProfile& profile = job_.job().profile;
  updated_in_step_.resize(profile.layers.size(), -1);
  if (layer >= profile.layers.size() || updated_in_step_[layer] == step_) {
    throw SimulationError(fmt::format("rank {} asked for the update of layer {} again in step {}, or there is none", rank_, layer, step_));
  }
  updated_in_step_[layer] = step_;
  const Seconds length = job_.passes().update_shares[layer] * profile.update;
  update_for(length);
  updated_ += length;
}

void Worker::apply(int gradient_step) { job_.recorder().update(rank_, step_ - gradient_step); }

void Worker::mix(int posted, bool waited) {
  apply(posted);
  job_.recorder().mix(rank_, step_ - posted + (waited ? 1 : 0));
}

void Worker::spend(Seconds time) {
  record(Phase::backward);  // what backward_until has left unrecorded; everything else is
  advance_to(after(now_, time, {.kind = PathClass::compression, .worker = rank_}));
  record(Phase::communicating);
}

Moment Worker::end_of(const Pass& pass, Seconds done, Seconds end) const {
  const Slowness slowness = {rank_, slowness_, factor_ / slowness_, pass.pace() / factor_};
  return until_event(now_, end,
                     [&](Seconds time, const Cause& before) { return new PassEvent(time, before, pass, pass.done(), done, slowness); });
}

Moment Worker::updated(Seconds length, Seconds end) const {
  return until_event(now_, end, [&](Seconds time, const Cause& before) {
    return new UpdateEvent(time, before, length, {rank_, slowness_});
  });
}

Stream& Worker::stream(int row) const {
  const auto index = static_cast<std::size_t>(row);
  if (index >= streams_.size()) throw SimulationError(fmt::format("a program uses stream {}, and its job has {}", row, streams_.size()));
  return *streams_[index];
}

void Worker::count_post(int posts, Bytes bytes, Bytes sent) {
  job_.recorder().post(rank_, posts, bytes, sent);
  steps_since_post_ = 0;
}

Handle Worker::post(const SharedPayload& payload, int round, const Options& options) {
  Stream& stream = this->stream(options.stream);
  const int members = stream.communicator().size();
  count_post(1, contribution(options.operation, payload->bytes, members), sent_in_ring(options.operation, payload->bytes, members));
  const Post post = {options.operation, round, payload, options.priority};
  if (options.after) return post_after(*options.after, stream, post, options);
  // Before the others may learn that the last one has posted.
  const Handle handle = {options.stream, stream.next_ticket(rank_)};
  if (!options.value.empty()) job_.posted_values().post(stream.index(), handle.ticket, rank_, options.value);
  if (is_recorded_ && options.operation == Operation::broadcast) job_.posted_values().expect(stream.index(), handle.ticket);
  stream.post(rank_, post, handled_by_host(payload, options.delay));
  tie(handle, {.before = now(), .after = now(), .delay = options.delay, .posts = true});
  return handle;
}

Moment Worker::handled_by_host(const SharedPayload& payload, Seconds delay) {
  const Seconds time = job_.job().per_collective;
  const auto handled = [&](const Moment& start, Seconds length) {
    return length == Seconds(0) ? start : after(start, length, {.kind = PathClass::host, .worker = rank_, .payload = &payload});
  };
  if (time == Seconds(0)) return handled(now_, delay);
  host_ = handled(latest(now_, host_), time);
  return handled(host_, delay);
}

Handle Worker::post_after(Handle before, Stream& stream, const Post& post, const Options& options) {
  following_.resize(streams_.size());
  const Handle handle = {options.stream, following_[static_cast<std::size_t>(options.stream)]++};
  Stream& first = this->stream(before.stream);
  first.when_known(
      rank_, before.ticket,
      [this, &first, &stream, before, handle, post, handled = handled_by_host(post.payload, options.delay)](const Moment& end) {
        const Values mean = job_.posted_values().mean(first.index(), before.ticket);
        if (!mean.empty()) job_.posted_values().post(stream.index(), handle.ticket, rank_, mean);
        stream.post(rank_, post, latest(end, handled));
      });
  return handle;
}

void Worker::hold(Bytes bytes) { job_.recorder().hold(rank_, bytes); }

bool Worker::has_missed(int row) const { return stream(row).has_missed(rank_); }

bool Worker::is_expected(int row) const {
  meet_clock();
  let_others_post();
  return stream(row).is_expected(rank_);
}

bool Worker::has_ended(Handle handle) {
  meet_clock();
  const bool has_ended = stream(handle.stream).has_ended(rank_, handle.ticket, now());
  if (has_ended) tie(handle, {.before = now(), .after = now()});
  return has_ended;
}

void Worker::wait(Handle handle) {
  const Seconds before = now();
  const Moment end = stream(handle.stream).wait(rank_, handle.ticket);
  unblock(end);
  tie(handle, {.before = before, .after = now(), .ended = end.time});
}

void Worker::tie(Handle handle, Tie tie) const {
  tie.stream = stream(handle.stream).index();
  tie.number = static_cast<std::int32_t>(handle.ticket);
  job_.recorder().tie(rank_, tie);
}

void Worker::wait(std::span<const Handle> handles) {
  // Backwards: the newest most often ends last, and then the others cost nothing.
  for (std::size_t i = handles.size(); i-- > 0;) wait(handles[i]);
}

void Worker::unblock(const Moment& end) {
  if (end.time <= now()) return;
  record(Phase::backward);  // what backward_until has left unrecorded; everything else is
  now_ = end;
  record(Phase::blocked);
}

Seconds Worker::all_reduce_within_node(const SharedPayload& payload, Seconds start) {
  const Job& job = job_.job();
  if (job.gpus_per_rank == 1) return start;
  const Seconds end = start + job.within_node(payload->bytes);
  job_.recorder().transfer(rank_, TransferSpan::Kind::within_node, step_, {start, end}, payload);
  return end;
}

Seconds Worker::spread_within_node(const SharedPayload& payload, Seconds start) {
  const Job& job = job_.job();
  if (job.gpus_per_rank == 1) return start;
  const Seconds end = start + job.servers->spread_latency + job.servers->spread * payload->bytes;
  job_.recorder().transfer(rank_, TransferSpan::Kind::spread, step_, {start, end}, payload);
  return end;
}

Seconds Worker::end_of_update(Seconds start, Seconds length) const { return end_of_compute(start, slowness_ * length, pauses_); }

void Worker::update_for(Seconds length) {
  advance_to(updated(length, end_of_update(now(), length)));
  record(Phase::update);
}

void Worker::update_until(Seconds end) {
  if (end > now()) advance_to(until(now_, end, {.kind = PathClass::update, .worker = rank_}));
  record(Phase::update);
}

void Worker::communicate_until(Seconds end) {
  if (end > now()) advance_to(until(now_, end, {.kind = PathClass::transfer, .worker = rank_, .link = Network::inside_node}));
  record(Phase::communicating);
}

double Worker::draw() const {
  constexpr std::uint32_t what = 0xffffffff;  // no stream's latencies
  return uniform_pair(job_.job().speed.seed, static_cast<std::uint32_t>(rank_), static_cast<std::uint32_t>(step_), what)[0];
}

void Worker::record(Phase phase) {
  if (now() <= recorded_) return;
  job_.recorder().phase(rank_, {recorded_, now(), step_, phase});
  recorded_ = now();
}

void Worker::record_layers(Pass& pass) {
  if (!job_.recorder().is_shown(rank_)) return;
  for (; pass.recorded < pass.layers() && pass.layer_end(pass.recorded) <= pass.done(); ++pass.recorded) {
    const Seconds end = pass.time_of(pass.layer_end(pass.recorded), pauses_);
    job_.recorder().layer({pass.layer_start, end, rank_, step_, static_cast<std::int32_t>(pass.layer_index(pass.recorded)), pass.phase()});
    pass.layer_start = end;
  }
}

void Worker::advance_to(Moment time) {
  now_ = std::move(time);
  if (!job_.runs_ahead()) meet_clock();
}

void Worker::let_others_post() const {
  Completion completion(job_.clock());
  job_.clock().after(now() * (1.0 + rounding), [&] { completion.complete(now_); });
  completion.wait();
}

void Worker::meet_clock() const {
  if (now() <= job_.clock().now()) return;
  Completion completion(job_.clock());
  job_.clock().at(now(), [&] { completion.complete(now_); });
  completion.wait();
}

}  // namespace syncopate
