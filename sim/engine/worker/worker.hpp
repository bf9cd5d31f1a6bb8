#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "dataflow/replica.hpp"
#include "engine/clock/moment.hpp"
#include "engine/servers/exchange.hpp"
#include "engine/streams/admission.hpp"
#include "engine/worker/pass.hpp"
#include "engine/worker/speed.hpp"
#include "timeline/timeline.hpp"
#include "trace/step_profile.hpp"

namespace syncopate {

class JobRun;
class Stream;
struct Post;

/// What another worker has sent.
struct Received {
  int step = 0;         ///< of the last gradient in the model
  Values model{};       ///< empty where nothing is recorded
  double weight = 1.0;  ///< that it came with
};

/// Names a posted collective.
struct Handle {
  int stream = 0;
  Ticket ticket = 0;
};

/// One simulated worker, as a schedule sees it: it computes, communicates and waits. It is a
/// rank of the schedule: one GPU, or all GPUs of a node.
///
/// A worker's own time may run ahead of the clock within a step, since nothing can disturb compute whose length is
/// known; it meets the clock again wherever it blocks and at every step's boundary. Switched off (`--no-symmetry`), the
/// worker meets the clock after every bit of compute; the results are the same.
class Worker {
 public:
  /// `streams`: by row of the job's streams, that of its own group.
  Worker(JobRun& job, int rank, std::vector<Stream*> streams);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  int rank() const { return rank_; }
  int ranks() const;                         ///< of the whole job
  const Communicator& group(int row) const;  ///< its own in that row of the job's streams
  int step() const { return step_; }         ///< of the current gradient step, from 0
  Seconds now() const { return now_.time; }

  /// Begins the next gradient step; of a worker that is not there, when it is again. False when the run is over: the program must then
  /// return.
  bool next_step();
  /// The step is the first one after an absence.
  bool has_joined() const { return has_joined_; }

  /// Begins the next round, in a schedule whose iterations are rounds.
  void begin_round();

  // Compute: whole passes, or layer by layer. A layer counts from 0, wherever it is in its pass. The two mix: a whole pass is what is left
  // of it, and a layer that a pass has gone beyond is done.

  void forward();
  /// Throws SimulationError when the layer is not the next one; a pass begins with its first layer.
  void forward(std::size_t layer);

  void backward();
  void backward(std::size_t layer);
  /// Until `ready` after backward began, as an undisturbed worker would count it.
  void backward_until(Seconds ready);

  /// The optimiser's step: all of it, or what is left of it.
  void update();
  /// Its share for one layer, by bytes; in any order, each layer once a step.
  void update(std::size_t layer);

  /// Notes that what others computed in `gradient_step` enters the parameters now; the difference to the worker's own step is
  /// the update's staleness. Takes no time.
  void apply(int gradient_step);
  /// The same for a model that has been averaged over the ranks; it had been posted at the end of step `posted`. `waited`: for its end.
  void mix(int posted, bool waited);

  /// A number that is uniform in (0, 1), for this rank and step.
  double draw() const;

  /// Work for the sake of communication, such as compression: lasts `time` on every worker.
  void spend(Seconds time);

  // Collectives

  /// What a post may say besides its payload.
  struct Options {
    Operation operation = Operation::all_reduce;
    double priority = 0.0;  ///< lower first, where the stream's rules are by priority
    int stream = 0;         ///< row of the job's streams: that of the own group there
    Values value{};         ///< what it carries, for a record of the dataflow
    /// It counts as posted when that collective has ended for the rank, and carries its mean. A stream to which anything is posted so takes
    /// nothing else, and its `StreamTraffic` says that it follows.
    std::optional<Handle> after{};
    Seconds delay{};  ///< it counts as posted so much later, beside the worker; not where only a share of the ranks has to post
  };

  /// Hands a collective to a stream; does not block. `payload`: the whole vector, over all members of the stream's communicator.
  Handle post(const SharedPayload& payload, int round) { return post(payload, round, Options()); }
  Handle post(const SharedPayload& payload, int round, const Options& options);
  /// Where collectives have a deadline: whether the next one in that row of streams has started, so that a post of it takes it over.
  bool has_missed(int row) const;
  /// Whether another worker has posted that by now, or it has been missed.
  bool is_expected(int row) const;
  /// Whether the collective has ended by now; one that ends just now has.
  bool has_ended(Handle handle);
  /// Blocks until the collective has ended.
  void wait(Handle handle);
  /// Blocks until all of them have ended.
  void wait(std::span<const Handle> handles);

  /// Parameters that the worker holds beside its own share, from now on: so many bytes more; or fewer, below 0.
  void hold(Bytes bytes);

  // Within a node whose GPUs are one rank: beside the worker, which goes on. Nothing to do for a single GPU.

  /// The GPUs add up gradients, as soon as that is possible after `start`; returns the end.
  Seconds all_reduce_within_node(const SharedPayload& payload, Seconds start);
  /// All of them get what one has; the same.
  Seconds spread_within_node(const SharedPayload& payload, Seconds start);
  /// When a piece of the optimiser's step, of such a length on an undisturbed worker, ends if it begins at `start`.
  Seconds end_of_update(Seconds start, Seconds length) const;
  /// Does such a piece now.
  void update_for(Seconds length);
  /// Held up by that until then.
  void update_until(Seconds end);
  void communicate_until(Seconds end);

  // Parameter server

  /// Hands a push to the server, and the pull that answers it; does not block.
  Exchange push(const SharedPayload& payload, int round, Answer answer, const PushOptions& options = PushOptions());
  /// Asks the server for parameters, which move as `as_pulled` (null: as they are); does not block.
  Exchange pull(const SharedPayload& payload, int round, const SharedPayload& as_pulled = nullptr);
  /// It will pull the sum of all workers' pushes, once enough of them have been handled: those of all but `ServerSetup::backup`.
  Exchange join(const SharedPayload& payload, int round, const PushOptions& options);
  /// And pushes to it, unless it has pulled it. `share`: of the step's gradients. What comes too late is dropped.
  void contribute(Exchange joined, double share, const PushOptions& options);
  /// When all of what it has joined is in, the worker gives up its step: computes no more of it. Until the next one.
  void give_up_when_in(std::span<const Exchange> joined);
  bool has_given_up() const { return has_given_up_; }
  /// Blocks until the pull is in or, where there is none, until the server has handled the push. Returns when that was if it has been kept
  /// (PushOptions).
  Seconds wait(Exchange exchange);
  void wait(std::span<const Exchange> exchanges);

  // Messages from worker to worker

  /// Hands a message to the own link, of which the receiver knows the round; does not block.
  void send(const SharedPayload& payload, int to, int round, const Values& model = Values(), double weight = 1.0);
  /// The same, and as soon as it has arrived the other one's link sends as much back, whatever that worker does. That one's model then
  /// becomes the mean of what it was, which is sent back, and of `model`.
  void exchange(const SharedPayload& payload, int with, int round, const Values& model = Values());
  /// Blocks until the message of that round, or the answer, has arrived.
  Received receive(int round);

  // What is computed from what, where the job's dataflow is recorded; else all of it is empty, and takes no time.

  bool is_recorded() const { return is_recorded_; }
  bool has_momentum() const;
  /// Its copy of the model. A step's gradient is that at the model with which its forward begins ...
  Replica& replica() { return replica_; }
  /// ... or, where layers are updated one by one during forward (Pace::updates_in_forward), as it is now.
  void compute_on_model();
  /// This step's, from now on.
  Values gradient();
  /// The model that it is the gradient at.
  const Values& computed_on() const { return computed_on_; }
  Values value(const Sum& sum) const;
  /// With error feedback: see Dataflow::compress.
  Values compress(std::string_view way, const Sum& sent, Values& residual) const;
  /// The mean of what ranks have posted for a collective that has ended; each rank gets it once.
  Values mean_of(Handle handle) const;
  /// Of all of them, part after part.
  Values mean_of(std::span<const Handle> handles) const;
  /// The servers' model, as it came with a pull that has been waited for; once.
  Values pulled_by(Exchange exchange) const;
  Values pulled_by(std::span<const Exchange> exchanges) const;

 private:
  friend class JobRun;

  /// Blocks while the worker is not there. False when the run is over for it.
  bool be_there();
  bool stays() const { return absences_.empty(); }
  /// A forward pass is about to begin, or goes on.
  void begin_forward();

  /// Throws SimulationError when there is none.
  Stream& stream(int row) const;
  void count_post(int posts, Bytes bytes, Bytes sent);
  /// When the host has handled a post of now: it is at work on one after the other. `delay`: it waits that long besides.
  Moment handled_by_host(const SharedPayload& payload, Seconds delay);
  Handle post_after(Handle before, Stream& stream, const Post& post, const Options& options);
  /// Everything since the last call until `now_` was `phase`.
  void record(Phase phase);
  /// Layers of the pass that have ended.
  void record_layers(Pass& pass);
  /// Goes on with a pass until so much is done.
  void run_until(Pass& pass, Seconds done);
  /// It has done so much at `end`.
  void reach(Pass& pass, Seconds done, Seconds end);
  /// It is not yet said to have.
  Moment end_of(const Pass& pass, Seconds done, Seconds end) const;
  /// The end of a piece of the update, of such a length on an undisturbed worker.
  Moment updated(Seconds length, Seconds end) const;
  /// Layer by layer, because each may be slowed by communication.
  void begin_layers_until(Pass& pass, Seconds done);
  void run_layer(Pass& pass, std::size_t layer);
  /// The factor of a layer that starts now.
  double layer_factor();
  /// Blocked since `now_`; `end` may lie in the past.
  void unblock(const Moment& end);
  /// Notes where its program met a collective.
  void tie(Handle handle, Tie tie) const;
  void advance_to(Moment time);
  /// Whether the worker gives up its step before `end`, until which it would compute.
  bool gives_up_before(const Moment& end);
  void meet_clock() const;
  /// Whatever others post at this instant, but for rounding errors, has been posted then, and what may start has started.
  void let_others_post() const;

  JobRun& job_;
  int rank_;
  std::vector<Stream*> streams_;
  std::vector<Pause> pauses_;
  std::vector<Absence> absences_;
  bool has_joined_ = false;
  double slowness_;  ///< on its update
  int step_ = -1;
  int round_ = -1;
  int steps_since_post_ = 0;
  double factor_ = 1.0;  ///< of this step's compute
  Moment now_;
  Seconds recorded_;
  Pass forward_;
  Pass backward_;
  Seconds updated_;               ///< undisturbed, of this step's update
  std::vector<Exchange> joined_;  ///< when they are in, the step is given up
  bool has_given_up_ = false;
  std::vector<int> updated_in_step_;  ///< by layer, the step in which it was updated by itself last
  Moment host_;                       ///< until when it is at work
  std::vector<Ticket> following_;     ///< by row of streams, posts that follow other collectives
  bool is_recorded_;
  Replica replica_;
  Values computed_on_;  ///< the model with which this step's forward began
  Values gradient_;     ///< of this step, once it has been asked for
};

/// What runs on every worker of a job: a schedule, as sequential text.
using Program = std::function<void(Worker&)>;

}  // namespace syncopate
