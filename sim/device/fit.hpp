#pragma once

#include <vector>

#include "device/device_profile.hpp"
#include "model/model.hpp"
#include "trace/match.hpp"
#include "trace/trace.hpp"

namespace syncopate {

/// A measured trace, and the model that was measured.
struct FitSample {
  const Trace* trace;
  const Model* model;
};

/// Quality of the fit of one class of layers.
struct ClassFit {
  CostClass cost_class = CostClass::free;
  std::size_t layers = 0;
  double r2_forward = 0;  ///< coefficient of determination; 1 if there is no variance
  double r2_backward = 0;
};

/// Measured and predicted totals of one sample.
struct SampleFit {
  LayerMatch match;
  Seconds forward;  ///< measured, of matched layers
  Seconds backward;
  Seconds forward_left_out;  ///< measured, of layers without partner in the model
  Seconds backward_left_out;
};

struct FitReport {
  DeviceProfile profile;  ///< `errors` are against the samples; the caller sets name, kind and source
  std::vector<ClassFit> classes;
  std::vector<SampleFit> samples;
};

/// Fits the costs of each class of layers in the samples. Forward and backward are fitted separately, by least squares of seconds with
/// coefficients >= 0.
///
/// Classes that are not in the samples get the cost of the class that they resemble, or of elementwise layers. Fewer than 4 linear layers
/// get the rate of convolutions. `gpus`: they share each sample's batch. All samples must have the same dtype. Throws InputError if less
/// than half of a trace's time is in matched layers.
FitReport fit_profile(const std::vector<FitSample>& samples, std::int64_t gpus);

/// The profile's error against the matched layers of a trace.
ProfileError profile_error(const DeviceProfile& profile, const FitSample& sample);

}  // namespace syncopate
