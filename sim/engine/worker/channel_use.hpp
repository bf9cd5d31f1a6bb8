#pragma once

#include "base/units.hpp"

namespace syncopate {

/// How much of the traffic that slows overlapping layers down a worker has.
struct ChannelUse {
  double share = 0.0;      ///< 0 to 1
  Seconds until{};         ///< it is known to stay so until then ...
  bool till_post = false;  ///< ... but no longer than until the worker posts something
};

}  // namespace syncopate
