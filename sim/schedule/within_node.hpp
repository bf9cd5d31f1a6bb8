#pragma once

#include <vector>

#include "engine/worker/worker.hpp"
#include "schedule/parameters.hpp"
#include "schedule/posts.hpp"

namespace syncopate {

/// How the GPUs of a node that is one rank all-reduce their gradients: in buckets during backward, as PyTorch DDP does, or all after
/// backward.
struct WithinNode {
  bool overlapped = true;

  void declare(Parameters& parameters);

  /// A step's backward with the all-reduce; blocks until both have ended.
  class Backward {
   public:
    Backward(const WithinNode& within, const StepProfile& profile);
    void operator()(Worker& worker) const;

   private:
    std::vector<GroupPost> buckets_;
  };
};

}  // namespace syncopate
