#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/units.hpp"
#include "model/model.hpp"

namespace syncopate {

/// The work of a layer for one batch.
struct LayerWork {
  double macs = 0;    ///< multiply-accumulates of forward
  Bytes activations;  ///< of inputs and output
  Bytes weights;      ///< of parameters
};

/// Time of a layer: launch + macs / macs_per_s + activations / bandwidth + weights / weight_bandwidth. Rates are stored as inverses; 0
/// means that the term costs nothing.
struct LayerCost {
  Seconds launch;
  double s_per_mac = 0;
  SecondsPerByte activations;
  SecondsPerByte weights;

  Seconds operator()(const LayerWork& work) const {
    return launch + Seconds(s_per_mac * work.macs) + activations * work.activations + weights * work.weights;
  }
};

/// Relative error of a profile against a measurement: profile / measured - 1.
struct ProfileError {
  std::string against;            ///< what was measured
  std::string model;              ///< the measured model, or empty
  std::optional<double> forward;  ///< of total forward time
  std::optional<double> backward;
  std::optional<double> median_layer;   ///< median over layers of |error|, forward and backward together
  std::optional<double> samples_per_s;  ///< of one worker that trains alone
};

/// The file format device/1: cost of any model's layers on one device.
struct DeviceProfile {
  struct Direction {
    LayerCost forward;
    LayerCost backward;
  };

  std::string file;
  std::string name;
  std::string kind;       ///< "gpu" or "cpu"
  std::string source;     ///< origin of the coefficients
  std::string dtype;      ///< that it is valid for
  std::int64_t gpus = 1;  ///< GPUs that share one worker's batch evenly, as the two GPUs of a K80 board do
  std::map<CostClass, Direction> costs;
  std::optional<Direction> others;   ///< of classes that are not in `costs`
  LayerCost update;                  ///< the optimiser's step; `launch` is per tensor
  std::vector<ProfileError> errors;  ///< empty if unknown

  /// The cost of a class of layers. The first that exists: the class's own cost; the cost of the class that it resembles (3x3: convolution;
  /// depthwise and join: elementwise; attention: linear); `others`. Null if none exists.
  const Direction* cost(CostClass cost_class) const;
  /// The cost of a layer of `model`. Throws InputError if the profile has none.
  const Direction& cost_of(const ModelLayer& layer, const std::string& model) const;
  /// "forward +1.2%, backward -0.3% against ...", or "unknown".
  std::string describe_errors() const;
};

/// Reads and validates a device/1 document. Throws InputError.
DeviceProfile read_device_profile(const Document& document);

/// The device/1 text of a profile.
std::string write_device_profile(const DeviceProfile& profile);

/// The work of a layer for `samples` samples, with `bytes_per_element` bytes per element.
LayerWork work_of(const ModelLayer& layer, double samples, double bytes_per_element);

}  // namespace syncopate
