#pragma once

#include <string>
#include <vector>

#include "base/units.hpp"
#include "trace/match.hpp"
#include "trace/trace.hpp"

namespace syncopate {

/// A time in both traces.
struct TimePair {
  Seconds first;
  Seconds second;

  /// Relative difference: second / first - 1; 0 if `first` is 0.
  double apart() const { return first > Seconds(0) ? second / first - 1 : 0; }
};

/// Times of one layer, or of all matched layers of one type.
struct LayerComparison {
  std::string name;   ///< name in the first trace, or the type
  std::string other;  ///< name in the second trace; empty for a type
  std::size_t layers = 1;
  TimePair forward;
  TimePair backward;
  std::vector<std::string> kernels;        ///< names in the first trace's `timing.kernels`; empty for a type
  std::vector<std::string> other_kernels;  ///< the same for the second trace

  Seconds difference() const { return second() - first(); }
  Seconds first() const { return forward.first + backward.first; }
  Seconds second() const { return forward.second + backward.second; }
};

/// Comparison of two traces of one network: captured and imported, two devices, two number formats, ...
struct TraceComparison {
  TimePair forward;  ///< spans, as simulated
  TimePair backward;
  TimePair update;
  TimePair iteration;
  TimePair forward_of_layers;  ///< sums over all layers
  TimePair backward_of_layers;
  LayerMatch match;
  std::vector<LayerComparison> layers;  ///< matched layers, by descending difference
  std::vector<LayerComparison> types;   ///< types of matched layers, by descending difference
};

TraceComparison compare_traces(const Trace& first, const Trace& second);

/// The JSON text of a comparison, comparison/1.
std::string write_comparison(const TraceComparison& comparison, const Trace& first, const Trace& second);

}  // namespace syncopate
