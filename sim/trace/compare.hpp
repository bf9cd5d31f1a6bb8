#pragma once

#include <string>
#include <vector>

#include "base/units.hpp"
#include "trace/match.hpp"
#include "trace/trace.hpp"

namespace syncopate {

/// The same time in two traces.
struct TimePair {
  Seconds first;
  Seconds second;

  /// second / first - 1, or 0 where the first is 0.
  double apart() const { return first > Seconds(0) ? second / first - 1 : 0; }
};

/// Forward and backward of one layer, or of all matched layers of a type.
struct LayerComparison {
  std::string name;   ///< in the first trace, or the type
  std::string other;  ///< in the second trace; empty of a type
  std::size_t layers = 1;
  TimePair forward;
  TimePair backward;
  std::vector<std::string> kernels;        ///< that the first trace's `timing.kernels` has of the layer; empty of a type
  std::vector<std::string> other_kernels;  ///< likewise the second

  Seconds difference() const { return second() - first(); }
  Seconds first() const { return forward.first + backward.first; }
  Seconds second() const { return forward.second + backward.second; }
};

/// Two traces of one network beside each other: captured and imported, two devices, two formats of numbers, ...
struct TraceComparison {
  TimePair forward;  ///< spans, launch gaps included, as a simulation takes them
  TimePair backward;
  TimePair update;
  TimePair iteration;
  TimePair forward_of_layers;  ///< sums over all layers
  TimePair backward_of_layers;
  LayerMatch match;
  std::vector<LayerComparison> layers;  ///< that were matched, the largest difference first
  std::vector<LayerComparison> types;   ///< of these layers, likewise
};

TraceComparison compare_traces(const Trace& first, const Trace& second);

/// The JSON text of a comparison, comparison/1.
std::string write_comparison(const TraceComparison& comparison, const Trace& first, const Trace& second);

}  // namespace syncopate
