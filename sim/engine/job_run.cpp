#include "engine/job_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <simgrid/s4u/Actor.hpp>

#include "base/errors.hpp"
#include "base/text.hpp"
#include "engine/flow_stream.hpp"
#include "engine/line_stream.hpp"
#include "engine/message_stream.hpp"

namespace syncopate {

namespace {

std::unique_ptr<Stream> make_stream(const Job& job, int posters, Flows* flows, bool alone) {
  const auto factor = [&job](Handle handle) { return job.latency_cv > 0.0 ? latency_factor(job.latency_cv, job.speed.seed, handle) : 1.0; };
  const bool partial = job.stream.participants < 1.0;
  if (job.fidelity == Fidelity::alpha_beta || partial || job.planned == nullptr) {
    return std::make_unique<LineStream>(0, posters, job.stream, [&job, factor](const Post& post, Handle handle) {
      if (post.group.count == 1) return CollectiveTime{};
      CollectiveTime time = job.collective(post.operation, post.payload->bytes);
      time.latency = factor(handle) * time.latency;
      return time;
    });
  }
  if (flows != nullptr || job.stream.pipelined) {
    return std::make_unique<FlowStream>(0, posters, job.stream, *job.planned, flows, factor, job.shortcuts, alone);
  }
  return std::make_unique<MessageStream>(0, posters, *job.planned, factor, job.shortcuts);
}

TransferSpan as_transfer(const PeerLinks::Message& message) {
  return {message.start, message.arrival, message.from, message.round, TransferSpan::Kind::send, message.payload, message.to};
}

}  // namespace

JobRun::JobRun(const Job& job, const Network& network, Flows* flows, bool alone)
    : job_(job),
      stream_(make_stream(job, job.lockstep ? 1 : job.ranks, flows, alone && !network.changes_with_time())),
      peers_(
          job.lockstep ? 1 : job.ranks,
          [&job](const PeerLinks::Message& message) { return job.message(message.from, message.to, message.payload->bytes); }, flows,
          [this](const PeerLinks::Message& message) { note_transfer(as_transfer(message)); }) {
  const std::size_t count = job.lockstep ? 1 : static_cast<std::size_t>(job.ranks);
  workers_.reserve(count);
  for (std::size_t rank = 0; rank < count; ++rank) workers_.push_back(std::make_unique<Worker>(*this, static_cast<int>(rank)));
  timeline_.workers = job.ranks * job.gpus_per_rank;
  timeline_.compute = job.profile.compute();
  timeline_.steps.resize(count);
  timeline_.spans.resize(count);
  timeline_.channels.resize(count);
  begun_in_window_.resize(count);
  last_begin_.resize(count);
  begun_then_.resize(count);
  ended_.resize(count);
  past_window_.resize(count);
  if (job.servers) server_.emplace(*job.servers, simulated(), job.ranks / simulated(), timeline_, job.shown_workers, &network, flows);
}

ParameterServer& JobRun::server() {
  if (!server_) throw SimulationError("a program asked for a parameter server, and its schedule has none");
  return *server_;
}

bool JobRun::is_channel_busy(int rank, Seconds now) const {
  return stream_->is_busy(rank, now) || peers_.is_busy(rank, now) || (server_ && server_->is_busy(rank, now));
}

void JobRun::note_transfer(const TransferSpan& transfer) {
  if (is_past_window(transfer.worker)) return;
  if (transfer.to >= 0 && timeline_.window.has_opened && transfer.end > transfer.start) {
    const double inside = (transfer.end - std::max(transfer.start, timeline_.window.open)) / (transfer.end - transfer.start);
    if (inside > 0.0) timeline_.peer_traffic[{transfer.worker, transfer.to}] += inside * transfer.payload->bytes;
  }
  timeline_.channels[static_cast<std::size_t>(transfer.worker)].push_back({transfer.start, transfer.end});
  if (transfer.worker < job_.shown_workers) timeline_.transfers.push_back(transfer);
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
}

void JobRun::stop() {
  stream_->stop();
  peers_.stop();
  if (server_) server_->stop();
}

bool JobRun::begin_step(Worker& worker, Seconds now) {
  const auto index = static_cast<std::size_t>(worker.rank_);
  std::vector<Step>& steps = timeline_.steps[index];
  ++worker.step_;
  ++worker.steps_since_post_;
  if (past_window_[index]) {
    steps.back() = {.start = now};  // steps after the window do not count
  } else {
    if (!steps.empty()) steps.back().end = now;
    steps.push_back({.start = now});
  }
  if (!counts_rounds()) update_window(worker, worker.step_, now);
  if (close_ && !past_window_[index]) {
    past_window_[index] = true;
    ++finished_workers_;
  }
  if (finished()) return false;
  check_progress(worker);
  return true;
}

void JobRun::begin_round(const Worker& worker, Seconds now) { update_window(worker, worker.round_, now); }

void JobRun::update_window(const Worker& worker, int iteration, Seconds now) {
  const auto index = static_cast<std::size_t>(worker.rank_);
  begun_then_[index] = now == last_begin_[index] ? begun_then_[index] + 1 : 1;
  last_begin_[index] = now;
  if (open_) {
    ++begun_in_window_[index];
  } else if (iteration == job_.warmup && ++warm_workers_ == simulated()) {
    timeline_.window.open = *(open_ = now);
    timeline_.window.has_opened = true;
    // What began at the very instant of opening, before the last worker said so, belongs to the window too.
    for (std::size_t i = 0; i < workers_.size(); ++i) begun_in_window_[i] = last_begin_[i] >= now * (1.0 - 1e-12) ? begun_then_[i] : 0;
  }
  if (!close_ && begun_in_window_[index] > job_.measured) timeline_.window.close = *(close_ = now);
}

void JobRun::check_progress(const Worker& worker) const {
  const std::int64_t patience = (std::int64_t{job_.warmup} + job_.measured + 1) * std::max(1, job_.steps_per_round);
  const std::vector<Step>& steps = timeline_.steps[static_cast<std::size_t>(worker.rank_)];
  const std::size_t before = steps.size() - 1 - std::min<std::size_t>(steps.size() - 1, static_cast<std::size_t>(patience));
  if (worker.step_ >= patience && steps[before].start == steps.back().start) {
    throw SimulationError(fmt::format("rank {} made {} steps in no time, at {:.9g} s: a step must take some time", worker.rank_, patience,
                                      steps.back().start.value));
  }
  // Whole cycles of every schedule fit into the measured steps, so a rank that others wait for posts within them.
  if (worker.steps_since_post_ <= patience) return;
  const bool awaited = stream_->is_awaited_from(worker.rank_) || (server_ && server_->is_awaited_from(worker.rank_));
  if (!awaited) return;
  throw SimulationError(
      fmt::format("no progress: rank {} made {} steps without a post: {}", worker.rank_, worker.steps_since_post_ - 1, describe()));
}

std::string JobRun::describe() const {
  std::string text = stream_->describe_waits();
  const auto add = [&text](const std::string& more) { text += (text.empty() || more.empty() ? "" : "; ") + more; };
  add(peers_.describe_waits());
  if (server_) add(server_->describe_waits());
  std::vector<int> ended;
  for (int rank = 0; rank < simulated(); ++rank) {
    if (ended_[static_cast<std::size_t>(rank)]) ended.push_back(rank);
  }
  if (!ended.empty()) add(fmt::format("ended: {}", describe_ranks(ended)));
  return text;
}

JobTimeline JobRun::take_timeline() {
  if (!(timeline_.window.close > timeline_.window.open)) {
    throw SimulationError(fmt::format("the measured window is empty: it opened and closed at {:.9g} s", timeline_.window.open.value));
  }
  for (std::vector<Step>& steps : timeline_.steps) steps.pop_back();
  timeline_.collectives = stream_->take_spans();
  if (server_) server_->note_busy_times();
  return std::move(timeline_);
}

}  // namespace syncopate
