#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/model.hpp"
#include "trace/trace.hpp"

namespace syncopate {

/// Pairs of a trace's layers and the layers of a model or of another trace.
struct LayerMatch {
  std::string rule;  ///< how they were matched, for people
  std::vector<std::pair<std::size_t, std::size_t>>
      pairs;  ///< first: index into Trace::layers; second: index into Model::layers or the other trace's layers
};

/// Matches a trace's layers to a model's. The first rule that applies is used:
///
/// 1. By name, if most of the trace's layers have names of the model.
///
/// 2. If all layers of the trace have the type "unknown": to the model's layers with parameters, in order.
///
/// 3. The k-th layer of a type to the model's k-th layer of this op, for types with equal counts. Views, whose forward takes no time, are
/// ignored if they disturb the counts.
///
/// Layers without partner are left out, and so are pairs whose parameters differ in size by more than 5%.
LayerMatch match_layers(const Trace& trace, const Model& model);

/// The same for two traces. The second index of a pair is into `other`. Pairs whose gradients have different numbers of elements are left
/// out.
LayerMatch match_layers(const Trace& trace, const Trace& other);

}  // namespace syncopate
