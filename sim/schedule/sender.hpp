#pragma once

#include <functional>
#include <vector>

#include "schedule/compression.hpp"
#include "schedule/grouping.hpp"
#include "schedule/schedule.hpp"

namespace syncopate {

/// What a rank's messages carry of its gradients, for a record of the dataflow: all of them with the last message of a step; or, where the
/// model is recorded in parts, each message its own part, compressed with error feedback where the schedule compresses.
class Sender {
 public:
  Sender(const Compression& compression, std::size_t messages);

  /// What message number `message` of a step carries of `all`, which is asked for when it carries anything.
  Values operator()(Worker& worker, std::size_t message, const std::function<Sum()>& all);

 private:
  Compression compression_;
  std::vector<Values> residuals_;
};

/// Parts that are the groups.
std::vector<ModelPart> parts_of(const Grouping& grouping, const StepProfile& profile);

}  // namespace syncopate
