#include "engine/worker/worker_state.hpp"

#include <utility>

#include "engine/job_run.hpp"

namespace syncopate {

WorkerState::WorkerState(JobRun& job, int rank) : job_(job), rank_(rank), is_recorded_(job.job().dataflow != nullptr) {
  Moment start = job.job().records_causes ? Moment::origin() : Moment();
  if (job.job().start > Seconds(0)) start = until(start, job.job().start, {.kind = PathClass::pause, .worker = rank});
  come_back_at(std::move(start));
}

void WorkerState::count_post(int posts, Bytes bytes, Bytes sent) {
  job_.recorder().post(rank_, posts, bytes, sent);
  steps_since_post_ = 0;
  ++posts_;
}

void WorkerState::advance_to(Moment time) {
  set(std::move(time));
  if (!job_.runs_ahead()) meet_clock();
}

void WorkerState::come_back_at(Moment time) {
  set(std::move(time));
  recorded_ = now();
}

void WorkerState::unblock(const Moment& end) {
  if (end.time <= now()) return;
  record(Phase::backward);  // backward_until() records nothing itself
  set(end);
  record(Phase::blocked);
}

void WorkerState::record(Phase phase) {
  if (now() <= recorded_) return;
  job_.recorder().phase(rank_, {recorded_, now(), step_, phase});
  recorded_ = now();
}

void WorkerState::meet_clock() const {
  if (now() <= job_.clock().now()) return;
  Completion completion(job_.clock());
  job_.clock().at(now(), [&] { completion.complete(now_); });
  completion.wait();
}

void WorkerState::let_others_post() const {
  Completion completion(job_.clock());
  job_.clock().after(now() * (1.0 + rounding), [&] { completion.complete(now_); });
  completion.wait();
}

}  // namespace syncopate
