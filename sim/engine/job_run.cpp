#include "engine/job_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <simgrid/s4u/Actor.hpp>

#include "base/errors.hpp"
#include "base/text.hpp"

namespace syncopate {

JobRun::JobRun(const Job& job)
    : job_(job), stream_(0, job.lockstep ? 1 : job.ranks, [&job](const Post& post) {
        return post.group.count == 1 ? Seconds(0) : job.all_reduce(post.payload->bytes);
      }) {
  const std::size_t simulated = job.lockstep ? 1 : static_cast<std::size_t>(job.ranks);
  for (std::size_t rank = 0; rank < simulated; ++rank) workers_.push_back(std::make_unique<Worker>(*this, static_cast<int>(rank)));
  timeline_.ranks = job.ranks;
  timeline_.compute = job.profile.compute();
  timeline_.steps.resize(simulated);
  timeline_.spans.resize(simulated);
  steps_in_window_.resize(simulated);
  ended_.resize(simulated);
  past_window_.resize(simulated);
}

void JobRun::run_worker(int rank) {
  Worker& worker = *workers_[static_cast<std::size_t>(rank)];
  try {
    job_.program(worker);
    ended_[static_cast<std::size_t>(rank)] = true;
    if (finished()) return;
    throw SimulationError(
        fmt::format("rank {} ended its program in step {}, at {:.9g} s, before the measured window had closed; "
                    "a program must run until next_step() returns false",
                    rank, worker.step(), worker.now().value));
  } catch (const std::exception&) {
    if (!failure_) failure_ = std::current_exception();
  }
  simgrid::s4u::Actor::kill_all();
}

bool JobRun::begin_step(Worker& worker, Seconds now) {
  std::vector<Step>& steps = timeline_.steps[static_cast<std::size_t>(worker.rank_)];
  if (!steps.empty()) steps.back().end = now;
  ++worker.step_;
  ++worker.steps_since_post_;
  steps.push_back({.start = now});
  update_window(worker, now);
  if (finished()) return false;
  check_progress(worker);
  return true;
}

void JobRun::update_window(const Worker& worker, Seconds now) {
  const auto index = static_cast<std::size_t>(worker.rank_);
  if (worker.step_ == job_.warmup && ++warm_workers_ == simulated()) open_ = now;
  if (!open_) return;
  // A step that began at the very instant of opening, before the last worker said so, belongs to the window too.
  if (steps_in_window_[index] == 0) {
    for (const Step& step : timeline_.steps[index]) steps_in_window_[index] += step.start >= *open_ ? 1 : 0;
  } else {
    ++steps_in_window_[index];
  }
  if (!close_ && steps_in_window_[index] > job_.measured) close_ = now;
  if (close_ && !past_window_[index]) {
    past_window_[index] = true;
    ++finished_workers_;
  }
}

void JobRun::check_progress(const Worker& worker) const {
  const int patience = job_.warmup + job_.measured + 1;
  const std::vector<Step>& steps = timeline_.steps[static_cast<std::size_t>(worker.rank_)];
  const std::size_t before = steps.size() - 1 - std::min<std::size_t>(steps.size() - 1, static_cast<std::size_t>(patience));
  if (worker.step_ >= patience && steps[before].start == steps.back().start) {
    throw SimulationError(fmt::format("rank {} made {} steps in no time, at {:.9g} s: a step must take some time", worker.rank_, patience,
                                      steps.back().start.value));
  }
  // Whole cycles of every schedule fit into the measured steps, so a rank that others wait for posts within them.
  if (worker.steps_since_post_ <= patience || !stream_.is_awaited_from(worker.rank_)) return;
  throw SimulationError(fmt::format("no progress: rank {} made {} steps without a post: {}", worker.rank_, worker.steps_since_post_ - 1,
                                    stream_.describe_waits()));
}

std::string JobRun::describe() const {
  std::string text = stream_.describe_waits();
  std::vector<int> ended;
  for (int rank = 0; rank < simulated(); ++rank) {
    if (ended_[static_cast<std::size_t>(rank)]) ended.push_back(rank);
  }
  if (!ended.empty()) text += fmt::format("{}ended: {}", text.empty() ? "" : "; ", describe_ranks(ended));
  return text;
}

JobTimeline JobRun::take_timeline() {
  timeline_.window = {open_.value_or(Seconds(0)), close_.value_or(Seconds(0))};
  if (!(timeline_.window.close > timeline_.window.open)) {
    throw SimulationError(fmt::format("the measured window is empty: it opened and closed at {:.9g} s", timeline_.window.open.value));
  }
  for (std::vector<Step>& steps : timeline_.steps) steps.pop_back();
  timeline_.collectives = stream_.take_spans();
  return std::move(timeline_);
}

}  // namespace syncopate
