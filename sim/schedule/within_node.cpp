#include "schedule/within_node.hpp"

#include <algorithm>

namespace syncopate {

void WithinNode::declare(Parameters& parameters) {
  parameters.optional("within_node", overlapped, {{"overlapped", true}, {"blocking", false}},
                      "GPUs of a node all-reduce in buckets during backward, or everything after it");
}

WithinNode::Backward::Backward(const WithinNode& within, const StepProfile& profile)
    : buckets_(group_posts(within.overlapped ? Fusion()(profile, CostCurve()) : group_sync_easgd(profile, CostCurve()), profile)) {}

void WithinNode::Backward::operator()(Worker& worker) const {
  Seconds end;
  for (const GroupPost& bucket : buckets_) {
    worker.backward_until(bucket.post_at);
    end = worker.node().all_reduce(bucket.payload, std::max(end, worker.now()));
  }
  worker.backward();
  worker.node().wait_until(end);
}

}  // namespace syncopate
