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

/// The largest value(gpu) over a rank's GPUs.
template <class Function>
double largest(int rank, int gpus, Function&& value) {
  double result = 0.0;
  for (int gpu = rank * gpus; gpu < (rank + 1) * gpus; ++gpu) result = std::max(result, value(gpu));
  return result;
}

}  // namespace

Worker::Worker(JobRun& job, int rank, std::vector<Stream*> streams)
    : job_(job),
      state_(job, rank),
      collectives_(state_, std::move(streams)),
      servers_(state_),
      peers_(state_),
      node_(state_),
      dataflow_(state_),
      pauses_(job.job().speed.pauses_of(rank * job.job().gpus_per_rank, job.job().gpus_per_rank)),
      absences_(job.job().speed.absences_of(rank * job.job().gpus_per_rank, job.job().gpus_per_rank)),
      own_(job.job().own.empty() ? nullptr : job.job().own[at(rank)].get()),
      forward_(job.passes().forward, Phase::forward, own_ == nullptr ? nullptr : &own_->forward),
      backward_(job.passes().backward, Phase::backward, own_ == nullptr ? nullptr : &own_->backward) {}

int Worker::ranks() const { return job_.job().ranks; }

bool Worker::next_step() {
  state_.meet_clock();
  if (!wait_until_present() || !job_.begin_step(*this)) return false;
  forward_.end();
  backward_.end();
  updated_ = Seconds(0);
  dataflow_.begin_step();
  servers_.begin_step();
  return true;
}

bool Worker::wait_until_present() {
  has_joined_ = false;
  const Seconds instant = now() * (1.0 + rounding);
  const auto absence =
      std::find_if(absences_.begin(), absences_.end(), [&](const Absence& each) { return each.start <= instant && instant < each.end; });
  if (absence == absences_.end()) return true;
  job_.leave(*this);
  if (job_.finished()) return false;
  Completion completion(job_.clock());
  const bool returns = std::isfinite(absence->end.value);
  if (returns) job_.clock().at(absence->end, [&] { completion.complete(state_.moment()); });
  completion.wait();
  state_.come_back_at(until(state_.moment(), absence->end, {.kind = PathClass::pause, .worker = rank()}));
  has_joined_ = true;
  return job_.join(*this);
}

void Worker::begin_round() {
  state_.meet_clock();
  ++round_;
  job_.begin_round(*this);
}

double Worker::slowness(Phase phase, Seconds time) const {
  const double own = own_ != nullptr && phase == Phase::update ? own_->update : 1.0;
  return own * largest(rank(), job_.job().gpus_per_rank, [&](int gpu) { return job_.job().speed.slowness(gpu, phase, time); });
}

void Worker::begin(Pass& pass) {
  if (pass.has_begun()) return;
  slowness_ = slowness(pass.phase(), now());
  factor_ =
      largest(rank(), job_.job().gpus_per_rank, [&](int gpu) { return job_.job().speed.compute_factor(gpu, step(), pass.phase(), now()); });
  pass.begin(now(), factor_);
}

void Worker::run_until(Pass& pass, Seconds done) {
  if (servers_.has_given_up()) return;
  begin(pass);
  pass.resume(now());
  if (job_.layer_by_layer()) begin_layers_until(pass, done);
  if (servers_.has_given_up() || done <= pass.done()) return;
  const Seconds least = rounding * pass.total();
  const bool has_work = done - pass.done() > least || pass.own_time(pass.done(), done) > least;  // else a pause could delay nothing
  reach(pass, done, has_work ? std::max(now(), pass.time_of(done, pauses_)) : now());
}

void Worker::reach(Pass& pass, Seconds done, Seconds end) {
  Moment then = end_of(pass, done, end);
  if (servers_.gives_up_before(then)) {
    for (std::size_t layer = pass.recorded; layer < pass.layers() && pass.time_of(pass.layer_end(layer), pauses_) <= now(); ++layer) {
      pass.reach(pass.layer_end(layer), now());
    }
    return record_layers(pass);
  }
  pass.reach(done, end);
  record_layers(pass);
  state_.advance_to(std::move(then));
}

void Worker::begin_layers_until(Pass& pass, Seconds done) {
  // If a gradient becomes ready exactly when a layer ends, it is posted before the next layer begins.
  const auto begins = [&] { return pass.begun < pass.layers() && pass.layer_begin(pass.begun) < done * (1.0 - rounding); };
  for (; begins(); ++pass.begun) {
    const Seconds begin = pass.layer_begin(pass.begun);
    if (begin > pass.done()) {
      reach(pass, begin, pass.time_of(begin, pauses_));
      if (servers_.has_given_up()) return;
    }
    if (pass.layer_end(pass.begun) == begin) continue;
    learn_channel_use();
    if (servers_.has_given_up()) return;
    pass.change_pace(now(), factor_ * (1.0 + channel_use_.share * job_.job().speed.overlap_slowdown));
    if (channel_use_.till_post) {
      while (begins()) ++pass.begun;
      return;
    }
  }
}

void Worker::learn_channel_use() {
  Moment goes_on = until(state_.moment(), end_of_pause(now(), pauses_), {.kind = PathClass::pause, .worker = rank()});
  if (servers_.gives_up_before(goes_on)) return;
  state_.advance_to(std::move(goes_on));
  const bool may_have_changed = channel_use_.till_post && state_.posts() > posts_before_use_;
  if (job_.runs_ahead() && now() * (1.0 + rounding) < channel_use_.until && !may_have_changed) return;
  state_.meet_clock();
  state_.let_others_post();
  channel_use_ = job_.channel_use(rank(), now());
  posts_before_use_ = state_.posts();
}

void Worker::run_layer(Pass& pass, std::size_t layer) {
  begin(pass);
  if (pass.done() > pass.asked_until) {  // forward() or backward_until() went on in between
    while (pass.asked < pass.layers() && pass.layer_end(pass.asked) <= pass.done()) ++pass.asked;
  }
  if (pass.asked == pass.layers() || pass.layer_index(pass.asked) != layer) {
    throw SimulationError(fmt::format("rank {} asked for {} of layer {} where {} is next", rank(),
                                      pass.phase() == Phase::forward ? "forward" : "backward", layer,
                                      pass.asked == pass.layers() ? "no layer" : fmt::format("layer {}", pass.layer_index(pass.asked))));
  }
  pass.asked_until = pass.layer_end(pass.asked++);
  run_until(pass, pass.asked_until);
  state_.record(pass.phase());
}

void Worker::begin_forward() {
  if (!forward_.has_begun()) dataflow_.begin_forward();
}

void Worker::forward() {
  begin_forward();
  run_until(forward_, forward_.total());
  state_.record(Phase::forward);
}

void Worker::forward(std::size_t layer) {
  begin_forward();
  run_layer(forward_, layer);
}

void Worker::backward_until(Seconds ready) { run_until(backward_, ready); }

void Worker::backward() {
  run_until(backward_, backward_.total());
  state_.record(Phase::backward);
}

void Worker::backward(std::size_t layer) { run_layer(backward_, layer); }

void Worker::update() { update_for(std::max(Seconds(0), job_.job().profile.update - updated_)); }

void Worker::update(std::size_t layer) {
  const StepProfile& profile = job_.job().profile;
  updated_in_step_.resize(profile.layers.size(), -1);
  if (layer >= profile.layers.size() || updated_in_step_[layer] == step()) {
    throw SimulationError(fmt::format("rank {} asked for the update of layer {} in step {}, which was made already or does not exist",
                                      rank(), layer, step()));
  }
  updated_in_step_[layer] = step();
  const Seconds length = job_.passes().update_shares[layer] * profile.update;
  update_for(length);
  updated_ += length;
}

Seconds Worker::end_of_update(Seconds start, Seconds length) const {
  return end_of_compute(start, slowness(Phase::update, start) * length, pauses_);
}

void Worker::update_for(Seconds length) {
  state_.advance_to(end_of_update_piece(length, end_of_update(now(), length)));
  state_.record(Phase::update);
}

void Worker::update_until(Seconds end) {
  if (end > now()) state_.advance_to(until(state_.moment(), end, {.kind = PathClass::update, .worker = rank()}));
  state_.record(Phase::update);
}

void Worker::spend(Seconds time) {
  state_.record(Phase::backward);  // backward_until() records nothing itself
  state_.advance_to(after(state_.moment(), time, {.kind = PathClass::compression, .worker = rank()}));
  state_.record(Phase::communicating);
}

void Worker::apply(int gradient_step) { job_.recorder().update(rank(), step() - gradient_step); }

void Worker::mix(int posted, bool waited) {
  apply(posted);
  job_.recorder().mix(rank(), step() - posted + (waited ? 1 : 0));
}

void Worker::hold(Bytes bytes) { job_.recorder().hold(rank(), bytes); }

Moment Worker::end_of(const Pass& pass, Seconds done, Seconds end) const {
  const Slowness slowness = {rank(), slowness_, factor_ / slowness_, pass.pace() / factor_};
  return until_event(state_.moment(), end, [&](Seconds time, const Cause& before) {
    return new PassEvent(time, before, pass, pass.own(), pass.done(), done, slowness);
  });
}

Moment Worker::end_of_update_piece(Seconds length, Seconds end) const {
  return until_event(state_.moment(), end, [&](Seconds time, const Cause& before) {
    return new UpdateEvent(time, before, length, {rank(), slowness(Phase::update, now())});
  });
}

double Worker::draw() const {
  constexpr std::uint32_t what = 0xffffffff;  // no stream's latencies
  return uniform_pair(job_.job().speed.seed, static_cast<std::uint32_t>(rank()), static_cast<std::uint32_t>(step()), what)[0];
}

void Worker::record_layers(Pass& pass) {
  if (!job_.recorder().is_shown(rank())) return;
  for (; pass.recorded < pass.layers() && pass.layer_end(pass.recorded) <= pass.done(); ++pass.recorded) {
    const Seconds end = pass.time_of(pass.layer_end(pass.recorded), pauses_);
    job_.recorder().layer(
        {pass.layer_start, end, rank(), step(), static_cast<std::int32_t>(pass.layer_index(pass.recorded)), pass.phase()});
    pass.layer_start = end;
  }
}

}  // namespace syncopate
