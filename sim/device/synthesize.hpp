#pragma once

#include "device/device_profile.hpp"
#include "model/model.hpp"
#include "trace/trace.hpp"

namespace syncopate {

/// A device profile's prediction for a model at `batch` samples per worker. The trace is marked synthetic and carries the profile's source
/// and error. Gradients become ready at the end of their layer's backward, in the reverse order of forward. Throws InputError if the
/// profile has no cost for a layer, or if its GPUs cannot share the batch.
Trace synthesize(const Model& model, const DeviceProfile& profile, std::int64_t batch);

}  // namespace syncopate
