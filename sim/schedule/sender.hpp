#pragma once

#include <cstddef>
#include <vector>

#include "schedule/compression.hpp"
#include "schedule/grouping.hpp"
#include "schedule/schedule.hpp"

namespace syncopate {

/// What a rank's messages carry of its gradients, for a record of the dataflow. The last message of a step carries all of them; where the
/// model is recorded in parts, each message carries its own part, compressed with error feedback where the schedule compresses.
class Sender {
 public:
  Sender(const Compression& compression, std::size_t messages);

  /// What message number `message` of a step carries. `all()` is the Sum of all gradients, called if the message carries any.
  template <class All>
  Values operator()(Worker& worker, std::size_t message, All&& all) {
    return carries(worker, message) ? take(worker, message, all()) : Values();
  }

 private:
  static bool is_in_parts(Worker& worker) { return worker.dataflow().replica().model().size() > 1; }
  bool carries(Worker& worker, std::size_t message) const {
    return worker.dataflow().is_recorded() && (message + 1 == residuals_.size() || is_in_parts(worker));
  }
  Values take(Worker& worker, std::size_t message, const Sum& all);

  Compression compression_;
  std::vector<Values> residuals_;
};

/// The sum of a worker's gradients since it was cleared, each times a factor, for a record of the dataflow.
class GradientSum {
 public:
  explicit GradientSum(Worker& worker, const Coefficient& factor = 1.0) : worker_(worker), factor_(factor) {}

  /// The sum with this step's gradient.
  const Sum& operator()() {
    if (worker_.dataflow().is_recorded() && added_ < worker_.step()) sum_ += factor_ * worker_.dataflow().gradient();
    added_ = worker_.step();
    return sum_;
  }
  void clear() { sum_ = Sum(); }

 private:
  Worker& worker_;
  Coefficient factor_;
  Sum sum_;
  int added_ = -1;  ///< the last step whose gradient has been added
};

/// The parts of the model in a record of the dataflow: one for each group.
std::vector<ModelPart> parts_of(const Grouping& grouping, const StepProfile& profile);

}  // namespace syncopate
