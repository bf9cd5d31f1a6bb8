#include "engine/network/shared_flows.hpp"

#include <algorithm>

namespace syncopate {

void SharedFlows::advance_to(Seconds now) {
  const Seconds passed = std::max(Seconds(0), now - last_);
  last_ = std::max(last_, now);
  if (flows_.empty()) {
    moved_ = Bytes(0);  // a small virtual time has small rounding errors
  } else {
    moved_ = std::min(moved_ + rate_ * passed, flows_.top().first);
  }
}

void SharedFlows::pop_ended(Seconds now, std::vector<int>& ids) {
  for (const Bytes ended = moved_ + rate_ * (rounding * now); !flows_.empty() && flows_.top().first <= ended; flows_.pop()) {
    ids.push_back(flows_.top().second);
  }
}

}  // namespace syncopate
