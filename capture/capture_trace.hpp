#pragma once

#include "capture/device.hpp"
#include "capture/recording.hpp"
#include "trace/trace.hpp"

namespace syncopate::capture {

/// A measured trace of a recording: the model's layers, then the loss as a layer of its own. Provenance's command and time are
/// left to the caller.
Trace capture_trace(const Network& network, const DeviceDescription& device, const Recording& recording, const Summary& summary);

}  // namespace syncopate::capture
