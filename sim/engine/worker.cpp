#include "engine/worker.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.hpp"
#include "engine/clock.hpp"
#include "engine/job_run.hpp"

namespace syncopate {

int Worker::ranks() const { return job_.job().ranks; }

bool Worker::is_shown() const { return rank_ < job_.job().shown_workers; }

bool Worker::next_step() {
  meet_clock();
  if (!job_.begin_step(*this, now_)) return false;
  factor_ = job_.job().speed.compute_factor(rank_, step_);
  forward_done_ = Seconds(0);
  next_layer_ = 0;
  in_backward_ = false;
  return true;
}

void Worker::forward() {
  const Seconds start = now_;
  const StepProfile& profile = job_.job().profile;
  const Seconds done_before = forward_done_;
  advance_to(now_ + factor_ * (profile.forward - forward_done_));
  forward_done_ = profile.forward;
  record_layers(Phase::forward, start - factor_ * done_before, factor_, next_layer_);
  next_layer_ = profile.layers.size();
  record(Phase::forward);
}

void Worker::forward(std::size_t layer) {
  if (layer != next_layer_) {
    throw SimulationError(fmt::format("rank {} asked for forward of layer {} where layer {} is next", rank_, layer, next_layer_));
  }
  const StepProfile& profile = job_.job().profile;
  const Seconds start = now_;
  const Seconds length = profile.layers[layer].forward;
  advance_to(now_ + factor_ * length);
  forward_done_ += length;
  ++next_layer_;
  if (is_shown()) {
    job_.timeline().layers.push_back({start, now_, rank_, step_, static_cast<std::int32_t>(layer), Phase::forward});
  }
  record(Phase::forward);
}

void Worker::backward_until(Seconds ready) {
  if (!in_backward_) {
    in_backward_ = true;
    backward_start_ = now_;
    record_layers(Phase::backward, now_, factor_);
  }
  advance_to(std::max(now_, backward_start_ + factor_ * ready));
}

void Worker::backward() {
  backward_until(job_.job().profile.backward);
  record(Phase::backward);
}

Handle Worker::post(const SharedPayload& payload, int round, double priority) {
  Step& step = job_.timeline().steps[static_cast<std::size_t>(rank_)].back();
  ++step.posts;
  step.bytes += payload->bytes;
  steps_since_post_ = 0;
  return job_.stream().post(rank_, {Operation::all_reduce, {0, ranks(), 1}, round, payload, priority}, now_);
}

void Worker::wait(Handle handle) {
  const Seconds end = job_.stream().wait(rank_, handle);
  if (end <= now_) return;
  record(Phase::backward);        // what backward_until has left unrecorded; everything else is
  backward_start_ += end - now_;  // blocking puts off what is left of backward
  now_ = end;
  record(Phase::blocked);
}

void Worker::wait(std::span<const Handle> handles) {
  // Backwards: the newest most often ends last, and then the others cost nothing.
  for (std::size_t i = handles.size(); i-- > 0;) wait(handles[i]);
}

void Worker::update(int gradient_step) {
  Step& step = job_.timeline().steps[static_cast<std::size_t>(rank_)].back();
  const int staleness = step_ - gradient_step;
  ++step.updates;
  step.staleness += staleness;
  step.staleness_max = std::max(step.staleness_max, staleness);
  advance_to(now_ + job_.job().speed.slowness(rank_) * job_.job().profile.update);
  record(Phase::update);
}

void Worker::record(Phase phase) {
  if (now_ <= recorded_) return;
  std::vector<Span>& spans = job_.timeline().spans[static_cast<std::size_t>(rank_)];
  // Only shown workers need to tell one kind of compute from another; the others' memory matters more.
  if (!is_shown() && !spans.empty() && (spans.back().phase == Phase::blocked) == (phase == Phase::blocked)) {
    spans.back().end = now_;
  } else {
    spans.push_back({recorded_, now_, step_, phase});
  }
  recorded_ = now_;
}

void Worker::record_layers(Phase phase, Seconds start, double factor, std::size_t first) {
  if (!is_shown()) return;
  const StepProfile& profile = job_.job().profile;
  const bool forward = phase == Phase::forward;
  const Seconds span = forward ? profile.forward : profile.backward;
  Seconds elapsed;
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    const std::size_t layer = forward ? i : profile.layers.size() - 1 - i;
    const Seconds begin = elapsed;
    elapsed = std::min(span, elapsed + (forward ? profile.layers[layer].forward : profile.layers[layer].backward));
    if (i < first) continue;
    job_.timeline().layers.push_back(
        {start + factor * begin, start + factor * elapsed, rank_, step_, static_cast<std::int32_t>(layer), phase});
  }
}

void Worker::advance_to(Seconds time) {
  now_ = time;
  if (!job_.job().run_ahead) meet_clock();
}

void Worker::meet_clock() const {
  if (now_ <= clock_now()) return;
  call_at(now_, [actor = simgrid::s4u::ActorPtr(simgrid::s4u::Actor::self())] { actor->resume(); });
  simgrid::s4u::this_actor::suspend();
}

}  // namespace syncopate
