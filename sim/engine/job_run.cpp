#include "engine/job_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/errors.hpp"
#include "base/text.hpp"
#include "engine/streams/closed_form_transport.hpp"
#include "engine/streams/message_transport.hpp"
#include "engine/streams/recurrence_transport.hpp"

namespace syncopate {

namespace {

/// Null in alpha-beta fidelity.
PlannedCollectives* planned_of(const Job& job) {
  if (const auto* messages = std::get_if<PerMessage>(&job.model)) return messages->planned;
  const auto* flows = std::get_if<PerFlow>(&job.model);
  return flows == nullptr ? nullptr : flows->planned;
}

/// The time of a collective that all ranks start together and that shares no link. `queued`: see AlphaBeta.
CollectiveTime time_alone(const Job& job, const Communicator& communicator, Operation operation, Bytes bytes, bool queued = false) {
  return std::visit(
      [&](const auto& model) {
        if constexpr (std::is_same_v<std::decay_t<decltype(model)>, AlphaBeta>) {
          return model.cost(operation, communicator, bytes, queued);
        } else {
          return model.planned->time(operation, communicator, bytes);
        }
      },
      job.model);
}

std::unique_ptr<Transport> closed_form(const Job& job, const Communicator& communicator, LatencyFactor factor) {
  const auto cost = [&job, communicator, factor = std::move(factor)](const Movement& movement) {
    CollectiveTime time = time_alone(job, communicator, movement.operation, movement.bytes(), movement.queued);
    time.latency = factor(movement.ticket) * time.latency;
    return time;
  };
  const auto pieces = [&job, communicator](const Movement& movement) {
    if (const auto* model = std::get_if<AlphaBeta>(&job.model))
      return model->pieces(movement.operation, communicator, movement.bytes(), movement.queued);
    const CollectiveTime time = time_alone(job, communicator, movement.operation, movement.bytes());
    return std::vector<PathPiece>{{.length = time.latency, .kind = PathClass::latency, .link = Network::of_nodes},
                                  {.length = time.transfer, .kind = PathClass::transfer, .link = Network::of_nodes}};
  };
  return std::make_unique<ClosedFormTransport>(cost, pieces);
}

/// Whether a rank may end a collective before all ranks have posted it (the root of a broadcast). RecurrenceTransport cannot do this.
bool may_end_before_all_post(const std::vector<Operation>& operations) {
  return operations.empty() || std::find(operations.begin(), operations.end(), Operation::broadcast) != operations.end();
}

MessageLatency latency_of(const Job& job, Network& network) { return {network, job.speed.seed, job.draws_latencies}; }

std::unique_ptr<Transport> make_transport(const Job& job, const StreamSetup& row, const Communicator& communicator, int posters,
                                          Flows* flows, bool alone, int index, Network& network, MessageLog* log, Clock& clock) {
  const StreamRules& rules = row.rules;
  LatencyFactor factor = [&job, index](Ticket ticket) {
    return job.latency_cv > 0.0 ? latency_factor(job.latency_cv, job.speed.seed, index, ticket) : 1.0;
  };
  if (std::holds_alternative<AlphaBeta>(job.model) || rules.is_partial()) return closed_form(job, communicator, std::move(factor));
  PlannedCollectives& planned = *planned_of(job);
  const bool overlaps = rules.channels > 1;
  const MessageLatency latency = latency_of(job, network);
  if (moves_by_message(row, flows != nullptr, latency.draws())) {
    const bool stays_same = !network.changes_with_time() && !latency.draws();
    return std::make_unique<MessageTransport>(posters, communicator, planned, flows, std::move(factor), latency,
                                              MessageTransport::Options{.overlaps = overlaps,
                                                                        .shortcuts = job.shortcuts,
                                                                        .is_alone = alone && stays_same,
                                                                        .changes = network.changes_with_time(),
                                                                        .stream = static_cast<std::uint32_t>(index),
                                                                        .log = log},
                                              clock);
  }
  return std::make_unique<RecurrenceTransport>(posters, communicator, planned, std::move(factor), job.shortcuts);
}

/// Whether some collectives begin only after another one has ended (PostOptions::after).
bool has_following_stream(const Job& job) {
  return std::any_of(job.streams.begin(), job.streams.end(), [](const StreamSetup& row) { return row.follows; });
}

bool has_partial_stream(const Job& job) {
  return std::any_of(job.streams.begin(), job.streams.end(), [](const StreamSetup& row) { return row.rules.is_partial(); });
}

constexpr std::size_t most_ties = 2'000'000;  ///< computing slack takes about 300 MB for them

/// `flows` if the job's messages between ranks are flows, else null.
Flows* flows_of(const Job& job, Flows* flows) { return std::holds_alternative<PerFlow>(job.model) ? flows : nullptr; }

}  // namespace

bool moves_by_message(const StreamSetup& stream, bool as_flows, bool draws_latencies) {
  return as_flows || stream.rules.channels > 1 || stream.rules.by_priority || may_end_before_all_post(stream.operations) || draws_latencies;
}

JobRun::JobRun(const Job& job, Network& network, Flows* flows, bool alone, Windows& windows, Clock& clock)
    : job_(job),
      windows_(windows),
      clock_(clock),
      passes_(job.profile),
      runs_ahead_(job.run_ahead && !has_partial_stream(job)),
      recorder_(job.simulated(), job.shown_workers, job.profile.compute(), job.keeps_messages),
      peers_(
          job.simulated(), [this, &network](const PeerLinks::Message& message) { return time_of(message, network); },
          [this, &network](const PeerLinks::Message& message) { return mean_latency_of(message, network); }, network, flows_of(job, flows),
          [this](int rank) { return workers_[rank]->step(); },
          [this](int rank, const PeerLinks::Model& brought) { return answer_with(rank, brought); }, recorder_, clock) {
  if (job.records_causes && !job.shown_workers.empty() && !job.sends_more && !has_partial_stream(job) && !has_following_stream(job))
    recorder_.keep_ties(most_ties);
  recorder_.show(job.shown_time);
  if (job.collective_messages) recorder_.keep_collective_messages(*job.collective_messages);
  const bool only_stream = job.streams.size() == 1 && job.streams.front().groups.size() == 1;
  const int count = job.simulated();
  Indexed<std::vector<Stream*>> streams_of(count);  // by worker and row: the stream of the worker's group
  const Latecomers::HandOver hand_over = [this, &network](int from, int to, const SharedPayload& payload, const Moment& start) {
    const CollectiveTime time = job_.message(from, to, payload->bytes);
    const auto piece = [&](PathClass kind, int link) { return Why{.kind = kind, .worker = to, .link = link, .payload = &payload}; };
    const Moment begun = after(start, time.latency, piece(PathClass::latency, start.cause ? network.group_between(from, to) : -1));
    return after(begun, time.transfer, piece(PathClass::transfer, start.cause ? network.narrowest_group(from, to) : -1));
  };
  std::size_t rows = 0;
  for (const StreamSetup& row : job.streams) {
    for (const Communicator& group : row.groups) {
      const int posters = job.lockstep ? 1 : group.size();
      auto transport = make_transport(job, row, group, posters, flows_of(job, flows), alone && only_stream && !job.sends_more,
                                      static_cast<int>(streams_.size()), network, recorder_.collective_messages(), clock);
      transport->prepare_by(job.host, group);
      streams_.push_back(std::make_unique<Stream>(static_cast<int>(streams_.size()), group, job.lockstep, row.rules, row.operations,
                                                  std::move(transport), hand_over, clock));
      for (int member = 0; member < group.size(); ++member) {
        if (const int rank = group.rank(member); rank < count) streams_of[rank].push_back(streams_.back().get());
      }
    }
    ++rows;
    // A worker that is in no group of the row gets any stream of it, which throws when the worker posts.
    for (std::vector<Stream*>& streams : streams_of) streams.resize(rows, streams_.back().get());
  }
  workers_.reserve(at(count));
  for (int rank = 0; rank < count; ++rank) workers_.push_back(std::make_unique<Worker>(*this, rank, std::move(streams_of[rank])));
  begun_in_window_.resize(at(count));
  last_begin_.resize(at(count));
  begun_at_last_begin_.resize(at(count));
  ended_.resize(at(count));
  absent_.resize(at(count));
  staying_ = static_cast<int>(std::count_if(workers_.begin(), workers_.end(), [](const auto& worker) { return worker->stays(); }));
  if (job.servers) {
    server_.emplace(*job.servers, simulated(), job.ranks / simulated(), network, job.servers->as_flows ? flows : nullptr,
                    latency_of(job, network), job.dataflow.get(), recorder_, clock);
  }
}

Values JobRun::answer_with(int rank, const PeerLinks::Model& brought) {
  Replica& replica = workers_[rank]->dataflow().replica();
  Values before = replica.model();
  replica.become(0.5 * before + 0.5 * brought.value);
  return before;
}

CollectiveTime JobRun::time_of(const PeerLinks::Message& message, Network& network) const {
  CollectiveTime time = job_.message(message.from, message.to, message.payload->bytes);
  if (std::holds_alternative<AlphaBeta>(job_.model)) return time;
  const MessageLatency latency = latency_of(job_, network);
  const MessageName name = {MessageName::from_peer, static_cast<std::uint64_t>(message.round),
                            message.kind == PeerLinks::Kind::answer ? 1U : 0U};
  const bool as_flow = std::holds_alternative<PerFlow>(job_.model);
  time.latency = as_flow ? latency.at(message.from, message.to, name, clock_.now()) : latency(message.from, message.to, name, time.latency);
  return time;
}

Seconds JobRun::mean_latency_of(const PeerLinks::Message& message, Network& network) const {
  if (std::holds_alternative<PerFlow>(job_.model)) return latency_of(job_, network).mean_at(message.from, message.to, clock_.now());
  return job_.message(message.from, message.to, message.payload->bytes).latency;
}

ParameterServer& JobRun::server() {
  if (!server_) throw SimulationError("a program asked for a parameter server, but its schedule has none");
  return *server_;
}

bool JobRun::is_channel_busy(int rank, Seconds now) const {
  const Seconds then = now * (1.0 + rounding);  // movements that end at this instant have ended
  const auto moves = [&](const auto& stream) { return stream->has_member(rank) && stream->is_busy(rank, then); };
  return std::any_of(streams_.begin(), streams_.end(), moves) || peers_.is_busy(rank, then) || (server_ && server_->is_busy(rank, then));
}

ChannelUse JobRun::channel_use(int rank, Seconds now) const {
  if (is_channel_idle(rank, now)) return {.share = 0.0, .until = Seconds(std::numeric_limits<double>::infinity()), .till_post = true};
  if (job_.speed.slowed_by_traffic) return {.share = share_of_channel(rank, now), .until = now};
  if (!is_channel_busy(rank, now)) return {.share = 0.0, .until = now};
  Seconds until = now * (1.0 + rounding);
  for (const auto& stream : streams_) {
    if (stream->has_member(rank)) until = stream->busy_until(rank, until);
  }
  return {.share = 1.0, .until = until};
}

double JobRun::share_of_channel(int rank, Seconds now) const {
  const Seconds then = now * (1.0 + rounding);
  if (peers_.is_busy(rank, then) || (server_ && server_->is_busy(rank, then))) return 1.0;
  double use = 0.0;
  for (const auto& stream : streams_) {
    if (!stream->has_member(rank)) continue;
    use += stream->use(rank, then, [&](const Post& post) { return share_of_bytes(stream->communicator(), post); });
  }
  return std::min(1.0, use);
}

bool JobRun::is_channel_idle(int rank, Seconds now) const {
  if (job_.asks_peers) return false;  // its link may have to answer
  const Seconds then = now * (1.0 + rounding);
  const auto is_idle = [&](const auto& stream) { return !stream->has_member(rank) || stream->is_idle(rank, then); };
  return std::all_of(streams_.begin(), streams_.end(), is_idle) && !peers_.is_busy(rank, then) &&
         (!server_ || server_->is_idle(rank, then));
}

double JobRun::share_of_bytes(const Communicator& communicator, const Post& post) const {
  const Seconds host = job_.host(*post.payload, communicator.size());
  const auto [share, is_new] = shares_of_bytes_.try_emplace({communicator, post.operation, post.payload->bytes, host});
  if (!is_new) return share->second;
  const CollectiveTime alone = time_alone(job_, communicator, post.operation, post.payload->bytes);
  Seconds moves = alone.transfer;
  if (PlannedCollectives* const planned = planned_of(job_)) {
    moves = std::max(moves, (*planned)(post.operation, communicator, post.payload->bytes).times().busiest(post.payload->bytes));
  }
  share->second = alone.total() > Seconds(0) ? moves / (host + alone.total()) : 0.0;
  return share->second;
}

bool JobRun::is_awaited(int rank) const {
  const auto awaits = [&](const auto& stream) { return stream->has_member(rank) && stream->is_awaited_from(rank); };
  return std::any_of(streams_.begin(), streams_.end(), awaits) || (server_ && server_->is_awaited_from(rank));
}

void JobRun::run_worker(int rank) {
  Worker& worker = *workers_[rank];
  try {
    job_.program(worker);
    ended_[rank] = 1;
    if (windows_.all_finished() || recorder_.has_left_window(rank)) return;
    throw SimulationError(
        fmt::format("rank {} ended its program in step {}, at {:.9g} s, before the measured window had closed; "
                    "a program must run until next_step() returns false",
                    rank, worker.step(), worker.now().value));
  } catch (const std::exception&) {
    if (!failure_) failure_ = std::current_exception();
  }
}

bool JobRun::begin_step(Worker& worker) {
  const int rank = worker.rank();
  const double may_be_unfinished = simulated();
  if (++steps_ > job_.most_steps + may_be_unfinished) {
    throw SimulationError(
        fmt::format("over {:.2g} gradient steps of workers were simulated, the limit, though fewer were expected; use fewer iterations or "
                    "nodes, or allow more with --max-steps",
                    job_.most_steps));
  }
  worker.state_.begin_step();
  recorder_.begin_step(rank, worker.now());
  if (!job_.updates_in_forward || worker.step() == 0) evaluate(worker.state_, worker.dataflow().replica());
  if (!counts_rounds()) update_window(worker, worker.step());
  if (close_) finish(rank);
  if (windows_.all_finished() || (close_ && !job_.goes_on)) return false;
  check_progress(worker);
  return true;
}

void JobRun::finish(int rank) {
  if (recorder_.has_left_window(rank)) return;
  recorder_.leave_window(rank);
  ++finished_workers_;
}

void JobRun::leave(const Worker& worker) {
  absent_[worker.rank()] = 1;
  recorder_.leave(worker.rank(), worker.now());
  for (const auto& stream : streams_) stream->leave(worker.rank(), worker.state_.moment());
  if (close_) finish(worker.rank());
}

bool JobRun::join(const Worker& worker) {
  if (close_) return false;
  absent_[worker.rank()] = 0;
  for (const auto& stream : streams_) stream->join(worker.rank());
  return true;
}

void JobRun::evaluate(const WorkerState& worker, Replica& replica) const {
  if (job_.dataflow && worker.rank() == 0) job_.dataflow->evaluate(worker.rank(), replica.model(), worker.now());
}

void JobRun::begin_round(const Worker& worker) { update_window(worker, worker.round_); }

void JobRun::update_window(const Worker& worker, int iteration) {
  if (!worker.stays()) return;
  const int rank = worker.rank();
  const Seconds now = worker.now();
  begun_at_last_begin_[rank] = now == last_begin_[rank] ? begun_at_last_begin_[rank] + 1 : 1;
  last_begin_[rank] = now;
  begin_ = worker.state_.moment();
  if (iteration > reached_) {
    reached_ = iteration;
    if (job_.on_iteration) job_.on_iteration(iteration);
  }
  if (open_) {
    ++begun_in_window_[rank];
  } else if (iteration == job_.warmup && ++warm_workers_ == staying_) {
    windows_.warmed_up(now);
  }
  look_at_window(now);
  if (has_measured_ || begun_in_window_[rank] <= job_.measured) return;
  has_measured_ = true;
  windows_.measured(now);
}

void JobRun::look_at_window(Seconds now) {
  if (close_ || begin_.time < now * (1.0 - rounding)) return;
  const auto begins = [&](int rank) { return last_begin_[rank] >= now * (1.0 - rounding); };
  if (!open_ && windows_.may_open()) {
    open_ = now;
    recorder_.open_window(now);
    // Iterations that began at the instant of opening count, even if they began before the window was found to open.
    for (int rank = 0; rank < simulated(); ++rank) begun_in_window_[rank] = begins(rank) ? begun_at_last_begin_[rank] : 0;
  }
  if (!has_measured_ || !windows_.may_close()) return;
  const auto ends_cycle = [&](int rank) {
    const int done = begun_in_window_[rank] - 1;
    return begins(rank) && done >= job_.measured && done % job_.cycle == 0;
  };
  bool may_close = false;
  for (int rank = 0; rank < simulated() && !may_close; ++rank) may_close = ends_cycle(rank);
  if (!may_close) return;
  close_ = now;
  closing_ = begin_;
  recorder_.close_window(now);
  for (int rank = 0; rank < simulated(); ++rank) {
    if (absent_[rank] != 0) finish(rank);
  }
}

void JobRun::check_progress(const Worker& worker) const {
  const std::int64_t patience = (std::int64_t{job_.warmup} + job_.measured + 1) * std::max(1, job_.steps_per_round);
  const std::vector<Step>& steps = recorder_.steps(worker.rank());
  const std::size_t before = steps.size() - 1 - std::min(steps.size() - 1, static_cast<std::size_t>(patience));
  if (worker.step() >= patience && steps[before].start == steps.back().start) {
    throw SimulationError(fmt::format("rank {} made {} steps in 0 s, at {:.9g} s: a step must take some time", worker.rank(), patience,
                                      steps.back().start.value));
  }
  // The measured steps are whole cycles of the schedule, so a rank that others wait for posts within them.
  if (worker.state_.steps_since_post() <= patience) return;
  if (!is_awaited(worker.rank())) return;
  throw SimulationError(fmt::format("no progress: rank {} made {} steps without a post: {}", worker.rank(),
                                    worker.state_.steps_since_post() - 1, describe()));
}

std::string JobRun::describe() const {
  std::string text;
  const auto add = [&text](const std::string& more) { text += (text.empty() || more.empty() ? "" : "; ") + more; };
  for (const auto& stream : streams_) add(stream->describe_waits());
  add(peers_.describe_waits());
  if (server_) add(server_->describe_waits());
  std::vector<int> ended;
  for (int rank = 0; rank < simulated(); ++rank) {
    if (ended_[rank] != 0) ended.push_back(rank);
  }
  if (!ended.empty()) add(fmt::format("ended: {}", describe_ranks(ended)));
  return text;
}

JobTimeline JobRun::take_timeline() {
  Clock::check(*close_);
  if (!(*close_ > *open_))
    throw SimulationError(fmt::format("the measured window is empty: it opened and closed at {:.9g} s", open_->value));
  std::vector<Communicator> communicators;
  std::vector<CollectiveSpan> collectives;
  std::vector<int> in_flight;
  for (const auto& stream : streams_) {
    communicators.push_back(stream->communicator());
    in_flight.push_back(stream->channels());
    std::vector<CollectiveSpan> spans = stream->take_spans();
    collectives.insert(collectives.end(), std::make_move_iterator(spans.begin()), std::make_move_iterator(spans.end()));
  }
  std::stable_sort(collectives.begin(), collectives.end(),
                   [](const CollectiveSpan& a, const CollectiveSpan& b) { return a.start < b.start; });
  if (server_) server_->cut_off();
  peers_.cut_off();
  JobTimeline timeline =
      recorder_.take(job_.ranks * job_.gpus_per_rank, server_.has_value(), std::move(communicators), std::move(collectives));
  timeline.in_flight = std::move(in_flight);
  if (job_.records_causes) timeline.critical_path = trace_back(closing_, *open_);
  return timeline;
}

}  // namespace syncopate
