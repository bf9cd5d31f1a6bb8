#pragma once

#include "device/device_profile.hpp"
#include "model/model.hpp"
#include "trace/trace.hpp"

namespace syncopate {

/// What a device profile predicts for a model at `batch` samples per worker: a trace marked synthetic, with the
/// profile's source and error. Gradients become ready when their layer's backward ends, in the reverse order of forward.
/// Throws InputError when the profile has no cost for one of the layers or its GPUs cannot share the batch.
Trace synthesize(const Model& model, const DeviceProfile& profile, std::int64_t batch);

}  // namespace syncopate
