#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/units.hpp"
#include "model/model.hpp"

namespace syncopate {

/// What a layer has to do for one batch.
struct LayerWork {
  double macs = 0;    ///< multiply-accumulates of forward
  Bytes activations;  ///< inputs and output
  Bytes weights;      ///< parameters
};

/// Seconds = launch + macs / macs_per_s + activations / bandwidth + weights / weight_bandwidth. Kept as inverses: 0 means
/// that the term costs nothing.
struct LayerCost {
  Seconds launch;
  double s_per_mac = 0;
  SecondsPerByte activations;
  SecondsPerByte weights;

  Seconds operator()(const LayerWork& work) const {
    return launch + Seconds(s_per_mac * work.macs) + activations * work.activations + weights * work.weights;
  }
};

/// How far a profile is from something measured: profile / measured - 1, of what was measured.
struct ProfileError {
  std::string against;            ///< what was measured
  std::string model;              ///< of which model, or empty
  std::optional<double> forward;  ///< of its total time
  std::optional<double> backward;
  std::optional<double> median_layer;   ///< the size of a layer's error, forward and backward together; median over layers
  std::optional<double> samples_per_s;  ///< of one worker that trains alone
};

/// The file format device/1: what the layers of any model cost on one device.
struct DeviceProfile {
  struct Direction {
    LayerCost forward;
    LayerCost backward;
  };

  std::string file;
  std::string name;
  std::string kind;       ///< "gpu" or "cpu"
  std::string source;     ///< where the coefficients come from
  std::string dtype;      ///< the one it holds for
  std::int64_t gpus = 1;  ///< share one worker's batch evenly, as the two of a K80 board do
  std::map<CostClass, Direction> costs;
  std::optional<Direction> others;   ///< of the classes that `costs` does not have
  LayerCost update;                  ///< the optimiser's step; launch is per tensor
  std::vector<ProfileError> errors;  ///< empty when unknown

  /// The cost of a class of layers: its own, else that of the class that it resembles (3x3: convolution, depthwise and
  /// join: elementwise, attention: linear), else that of the others, if the profile has one.
  const Direction* cost(CostClass cost_class) const;
  /// The cost of a layer of `model`. Throws InputError when the profile has none.
  const Direction& cost_of(const ModelLayer& layer, const std::string& model) const;
  /// "forward +1.2%, backward -0.3% against ...", or "unknown".
  std::string describe_errors() const;
};

/// Reads and validates a device/1 document. Throws InputError.
DeviceProfile read_device_profile(const Document& document);

/// The device/1 text of a profile.
std::string write_device_profile(const DeviceProfile& profile);

/// What a layer does for `samples` samples of `bytes_per_element` bytes.
LayerWork work_of(const ModelLayer& layer, double samples, double bytes_per_element);

}  // namespace syncopate
