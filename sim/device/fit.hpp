#pragma once

#include <vector>

#include "device/device_profile.hpp"
#include "model/model.hpp"
#include "trace/match.hpp"
#include "trace/trace.hpp"

namespace syncopate {

/// A measured trace and the model that it is of.
struct FitSample {
  const Trace* trace;
  const Model* model;
};

/// How well one class of layers fits.
struct ClassFit {
  CostClass cost_class = CostClass::free;
  std::size_t layers = 0;
  double r2_forward = 0;  ///< share of the variance that the fit explains; 1 when there is none
  double r2_backward = 0;
};

/// Measured and predicted totals of one sample.
struct SampleFit {
  LayerMatch match;
  Seconds forward;  ///< measured, of the matched layers
  Seconds backward;
  Seconds forward_left_out;  ///< measured, of layers without a partner in the model
  Seconds backward_left_out;
};

struct FitReport {
  DeviceProfile profile;  ///< its `errors` are those against the samples; name, kind and source are for the caller to set
  std::vector<ClassFit> classes;
  std::vector<SampleFit> samples;
};

/// Fits the costs of each class of layers that the samples have, by least squares of seconds with no coefficient below 0,
/// forward and backward apart; classes that they lack cost what those do that they resemble, or elementwise layers. Linear
/// layers, when there are less than 4, get the rate of convolutions. `gpus` share each sample's batch. The samples must have
/// a common dtype. Throws InputError when less than half of a trace's time is in layers of its model.
FitReport fit_profile(const std::vector<FitSample>& samples, std::int64_t gpus);

/// How far the profile is from a trace's layers, those that match.
ProfileError profile_error(const DeviceProfile& profile, const FitSample& sample);

}  // namespace syncopate
