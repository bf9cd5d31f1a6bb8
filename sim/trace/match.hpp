#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/model.hpp"
#include "trace/trace.hpp"

namespace syncopate {

/// Which layer of a model a trace's layer measured.
struct LayerMatch {
  std::string rule;                                        ///< what they were matched by, for people
  std::vector<std::pair<std::size_t, std::size_t>> pairs;  ///< indices into Trace::layers, and into Model::layers or the other trace's
};

/// Matches by name when most of the trace's layers are called as the model's are. Otherwise the k-th layer of a type is
/// the model's k-th of that op, for every type of which both have equally many (views, whose forward takes no time, do not
/// count where they are in the way). A trace whose layers are all of type "unknown" has the model's layers with parameters.
/// What has no partner is left out, and so is a pair whose parameters differ in size by more than 5%.
LayerMatch match_layers(const Trace& trace, const Model& model);

/// The same of two traces: the second of a pair is an index into the layers of `other`. A pair whose gradients differ in their numbers of
/// elements is left out.
LayerMatch match_layers(const Trace& trace, const Trace& other);

}  // namespace syncopate
