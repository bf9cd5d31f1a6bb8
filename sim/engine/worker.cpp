#include "engine/worker.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.hpp"
#include "engine/clock.hpp"
#include "engine/job_run.hpp"

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

Worker::Worker(JobRun& job, int rank)
    : job_(job),
      rank_(rank),
      pauses_(job.job().speed.pauses_of(rank * job.job().gpus_per_rank, job.job().gpus_per_rank)),
      slowness_(largest(rank, job.job().gpus_per_rank, [&](int gpu) { return job.job().speed.slowness(gpu); })) {}

int Worker::ranks() const { return job_.job().ranks; }

bool Worker::is_shown() const { return rank_ < job_.job().shown_workers; }

Step& Worker::current_step() { return job_.timeline().steps[static_cast<std::size_t>(rank_)].back(); }

bool Worker::next_step() {
  meet_clock();
  if (!job_.begin_step(*this, now_)) return false;
  factor_ = largest(rank_, job_.job().gpus_per_rank, [this](int gpu) { return job_.job().speed.compute_factor(gpu, step_); });
  forward_done_ = Seconds(0);
  next_layer_ = 0;
  in_backward_ = false;
  return true;
}

void Worker::begin_round() {
  meet_clock();
  ++round_;
  job_.begin_round(*this, now_);
}

void Worker::forward() {
  const StepProfile& profile = job_.job().profile;
  if (job_.layer_by_layer()) {
    while (next_layer_ < profile.layers.size()) forward(next_layer_);
  }
  const Seconds start = now_ - factor_ * forward_done_;
  record_layers(Phase::forward, start, next_layer_);
  advance_to(end_of_compute(now_, factor_ * (profile.forward - forward_done_), pauses_));
  forward_done_ = profile.forward;
  next_layer_ = profile.layers.size();
  record(Phase::forward);
}

void Worker::forward(std::size_t layer) {
  if (layer != next_layer_) {
    throw SimulationError(fmt::format("rank {} asked for forward of layer {} where layer {} is next", rank_, layer, next_layer_));
  }
  const Seconds start = now_;
  const Seconds length = job_.job().profile.layers[layer].forward;
  advance_to(end_of_compute(now_, layer_factor() * length, pauses_));
  forward_done_ += length;
  ++next_layer_;
  record_layer(Phase::forward, layer, start);
  record(Phase::forward);
}

double Worker::layer_factor() {
  if (!job_.layer_by_layer()) return factor_;
  advance_to(end_of_pause(now_, pauses_));
  meet_clock();
  simgrid::s4u::this_actor::yield();  // so that whatever others post at this instant counts
  return job_.is_channel_busy(rank_, now_) ? factor_ * (1.0 + job_.job().speed.overlap_slowdown) : factor_;
}

void Worker::backward_until(Seconds ready) {
  if (!in_backward_) {
    in_backward_ = true;
    backward_done_ = Seconds(0);
    anchor_time_ = now_;
    anchor_done_ = Seconds(0);
    anchor_factor_ = factor_;
    backward_layer_ = 0;
    backward_layer_end_ = Seconds(0);
    if (!job_.layer_by_layer()) record_layers(Phase::backward, now_);
  }
  if (job_.layer_by_layer()) backward_by_layers_until(ready);
  if (ready <= backward_done_) return;
  backward_done_ = ready;
  advance_to(std::max(now_, end_of_compute(anchor_time_, anchor_factor_ * (ready - anchor_done_), pauses_)));
}

void Worker::backward_by_layers_until(Seconds ready) {
  constexpr double rounding = 1e-12;
  const auto& layers = job_.job().profile.layers;
  // A layer that ends just when a gradient is ready is followed by the next one only after the gradient's post.
  while (backward_layer_ < layers.size() && backward_layer_end_ < ready * (1.0 - rounding)) {
    if (backward_layer_end_ > backward_done_) {
      advance_to(end_of_compute(anchor_time_, anchor_factor_ * (backward_layer_end_ - anchor_done_), pauses_));
      backward_done_ = backward_layer_end_;
    }
    if (backward_layer_ > 0) record_layer(Phase::backward, layers.size() - backward_layer_, layer_start_);
    const Seconds length = layers[layers.size() - 1 - backward_layer_].backward;
    ++backward_layer_;
    layer_start_ = now_;
    if (length == Seconds(0)) continue;
    anchor_factor_ = layer_factor();
    anchor_time_ = now_;
    anchor_done_ = backward_done_;
    backward_layer_end_ += length;
  }
}

void Worker::backward() {
  backward_until(job_.job().profile.backward);
  if (job_.layer_by_layer() && backward_layer_ > 0) {
    record_layer(Phase::backward, job_.job().profile.layers.size() - backward_layer_, layer_start_);
  }
  record(Phase::backward);
}

void Worker::update() {
  advance_to(end_of_compute(now_, slowness_ * job_.job().profile.update, pauses_));
  record(Phase::update);
}

void Worker::apply(int gradient_step) {
  Step& step = current_step();
  const double staleness = step_ - gradient_step;
  ++step.updates;
  step.staleness += staleness;
  step.staleness_max = std::max(step.staleness_max, staleness);
}

void Worker::mix(int posted) {
  apply(posted);
  current_step().mixed_after = step_ - posted;
}

void Worker::spend(Seconds time) {
  record(Phase::update);
  advance_to(now_ + time);
  record(Phase::communicating);
}

void Worker::count_post(const SharedPayload& payload, int posts) {
  Step& step = current_step();
  step.posts += posts;
  step.bytes += posts * payload->bytes;
  steps_since_post_ = 0;
}

Handle Worker::post(const SharedPayload& payload, int round, double priority, Operation operation) {
  count_post(payload, 1);
  return job_.stream().post(rank_, {operation, {0, ranks(), 1}, round, payload, priority}, now_);
}

bool Worker::has_ended(Handle handle) {
  meet_clock();
  return job_.stream().has_ended(rank_, handle, now_);
}

void Worker::wait(Handle handle) { unblock(job_.stream().wait(rank_, handle)); }

void Worker::wait(std::span<const Handle> handles) {
  // Backwards: the newest most often ends last, and then the others cost nothing.
  for (std::size_t i = handles.size(); i-- > 0;) wait(handles[i]);
}

void Worker::unblock(Seconds end) {
  if (end <= now_) return;
  record(Phase::backward);  // what backward_until has left unrecorded; everything else is
  now_ = end;
  record(Phase::blocked);
  anchor_time_ = now_;  // blocking puts off what is left of backward
  anchor_done_ = backward_done_;
}

void Worker::all_reduce_within_node(const SharedPayload& payload) {
  const Job& job = job_.job();
  if (job.gpus_per_rank == 1) return;
  const Seconds start = now_;
  advance_to(now_ + job.within_node(payload->bytes));
  record(Phase::communicating);
  job_.note_transfer({start, now_, rank_, step_, TransferSpan::Kind::within_node, payload});
}

Exchange Worker::push(const SharedPayload& payload, int round, Answer answer) {
  count_post(payload, answer == Answer::none ? 1 : 2);
  return job_.server().push(rank_, payload, round, answer, now_);
}

Exchange Worker::pull(const SharedPayload& payload, int round) {
  count_post(payload, 1);
  return job_.server().pull(rank_, payload, round, now_);
}

void Worker::wait(Exchange exchange) { unblock(job_.server().wait(rank_, exchange)); }

void Worker::wait(std::span<const Exchange> exchanges) {
  for (std::size_t i = exchanges.size(); i-- > 0;) wait(exchanges[i]);
}

void Worker::send(const SharedPayload& payload, int to, int round) {
  count_post(payload, 1);
  job_.peers().send({rank_, to, round, payload, now_});
}

void Worker::receive(int round) {
  meet_clock();
  const PeerLinks::Message message = job_.peers().receive(rank_, round);
  if (message.posted > now_) {
    now_ = message.posted;
    record(Phase::waiting);
  }
  if (message.arrival > now_) {
    advance_to(message.arrival);
    record(Phase::communicating);
  }
}

void Worker::record(Phase phase) {
  if (now_ <= recorded_) return;
  if (job_.is_past_window(rank_)) {
    recorded_ = now_;
    return;
  }
  std::vector<Span>& spans = job_.timeline().spans[static_cast<std::size_t>(rank_)];
  // Only shown workers need to tell one kind of compute from another; the others' memory matters more.
  if (!is_shown() && !spans.empty() && (spans.back().phase == phase || (is_compute(spans.back().phase) && is_compute(phase)))) {
    spans.back().end = now_;
  } else {
    spans.push_back({recorded_, now_, step_, phase});
  }
  recorded_ = now_;
}

void Worker::record_layer(Phase phase, std::size_t layer, Seconds start) {
  if (is_shown()) job_.timeline().layers.push_back({start, now_, rank_, step_, static_cast<std::int32_t>(layer), phase});
}

void Worker::record_layers(Phase phase, Seconds start, std::size_t first) {
  if (!is_shown()) return;
  const StepProfile& profile = job_.job().profile;
  const bool forward = phase == Phase::forward;
  const Seconds span = forward ? profile.forward : profile.backward;
  const auto at = [&](Seconds undisturbed) { return end_of_compute(start, factor_ * undisturbed, pauses_); };
  Seconds elapsed;
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    const std::size_t layer = forward ? i : profile.layers.size() - 1 - i;
    const Seconds begin = elapsed;
    elapsed = std::min(span, elapsed + (forward ? profile.layers[layer].forward : profile.layers[layer].backward));
    if (i < first) continue;
    job_.timeline().layers.push_back({at(begin), at(elapsed), rank_, step_, static_cast<std::int32_t>(layer), phase});
  }
}

void Worker::advance_to(Seconds time) {
  now_ = time;
  if (!job_.runs_ahead()) meet_clock();
}

void Worker::meet_clock() const {
  if (now_ <= clock_now()) return;
  call_at(now_, [actor = simgrid::s4u::ActorPtr(simgrid::s4u::Actor::self())] { actor->resume(); });
  simgrid::s4u::this_actor::suspend();
}

}  // namespace syncopate
