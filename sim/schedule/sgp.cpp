#include <bit>

#include "schedule/posts.hpp"
#include "schedule/schedule.hpp"
#include "schedule/within_node.hpp"

namespace syncopate {

namespace {

/// Algorithm 2 with one peer and an overlap of one step. At the start of a step a rank sends its model to the peer of this step. At the end
/// it mixes in the model that was sent to it one step ago.
struct Sgp {
  WithinNode within_node{};

  static int period(int ranks) { return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks) - 1U)); }
  static int peer(int rank, int step, int ranks) { return (rank + (1 << (step % period(ranks)))) % ranks; }

  void declare(Parameters& parameters) { within_node.declare(parameters); }
  static Traffic traffic() { return {.ranks = RankKind::node, .peers = PeerTraffic{peer, period}}; }
  static Pace pace() { return {.waits_for_all = true}; }

  /// The rank's numerator and weight. The model is numerator / weight.
  class PushSum {
   public:
    explicit PushSum(Worker& worker) : worker_(worker), biased_(worker.dataflow().replica()) {}

    const Values& value() const { return biased_.model(); }
    double weight() const { return weight_; }
    void halve() {
      biased_.become(0.5 * biased_.model());
      weight_ *= 0.5;
    }
    void step(const Values& gradient) { biased_.step(gradient); }
    void add(const Received& received) {
      biased_.become(biased_.model() + received.model);
      weight_ += received.weight;
    }
    /// Sets the worker's model to numerator / weight.
    void show() { worker_.dataflow().replica().become(1.0 / weight_ * biased_.model()); }

   private:
    Worker& worker_;
    Replica biased_;
    double weight_ = 1.0;
  };

  Program program(const ScheduleInput& input) const {
    return [model = whole_model(input.profile), backward = WithinNode::Backward(within_node, input.profile),
            ranks = input.ranks](Worker& worker) {
      PushSum sum(worker);
      while (worker.next_step()) {
        if (ranks > 1) {
          const int to = peer(worker.rank(), worker.step(), ranks);
          sum.halve();
          worker.peers().send(model, to, worker.step(), sum.value(), sum.weight());
        }
        worker.forward();
        backward(worker);
        worker.update();
        sum.step(worker.dataflow().gradient());
        if (ranks > 1 && worker.step() > 0) {
          sum.add(worker.peers().receive(worker.step() - 1));
          worker.apply(worker.step() - 1);
        }
        sum.show();
      }
    };
  }
};

}  // namespace

ScheduleRow sgp() {
  return declare_schedule<Sgp>("sgp", "stochastic gradient push: the model to one peer per step, overlapped",
                               "M. Assran et al., \"Stochastic gradient push for distributed deep learning\", ICML'19, Algorithm 2");
}

}  // namespace syncopate
