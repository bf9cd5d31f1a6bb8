#include "engine/closed_form_transport.hpp"

#include <algorithm>

namespace syncopate {

std::optional<Seconds> ClosedFormTransport::start(const Movement& movement, int /*lane*/, Seconds now) {
  const CollectiveTime time = cost_(movement);
  return transferred_ = std::max(now + time.latency, transferred_) + time.transfer;
}

}  // namespace syncopate
