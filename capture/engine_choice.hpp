#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace syncopate::capture {

/// A way in which cuDNN offers to run a graph of operations: one of its engines with settings.
struct EngineOffer {
  std::string name;            ///< engine and settings; offers with equal names do the same
  bool tensor_cores = false;   ///< computes on tensor cores
  bool rounds_inputs = false;  ///< converts its inputs to a format of fewer bits
};

/// Which offers may be taken.
struct EngineRules {
  static constexpr std::size_t most_timed = 10;  ///< torch.backends.cudnn.benchmark_limit
  bool tensor_cores = true;                      ///< false for fp32, which tensor cores would round to TF32
  std::size_t workspace = 0;                     ///< most bytes
};

struct ChosenEngine {
  std::size_t offer = 0;      ///< index
  std::size_t workspace = 0;  ///< bytes
  Seconds time;
};

/// Bytes of workspace of offer i, once it is built; nothing if cuDNN cannot run it here.
using BuildEngine = std::function<std::optional<std::size_t>(std::size_t offer)>;
/// Time of offer i, which is built. May stop early when it exceeds `limit`. Nothing if it fails.
using TimeEngine = std::function<std::optional<Seconds>(std::size_t offer, Seconds limit)>;

/// The fastest of the first offers that run, which are in cuDNN's order. PyTorch with cudnn.benchmark chooses in the same way. Nothing if
/// no offer runs.
std::optional<ChosenEngine> fastest_engine(const std::vector<EngineOffer>& offers, const EngineRules& rules, const BuildEngine& build,
                                           const TimeEngine& time);

}  // namespace syncopate::capture
