#include <fmt/format.h>

#include "trace/trace.hpp"

namespace syncopate {

Trace scaled(const Trace& trace, double factor) {
  Trace all = trace;
  all.factor = factor * trace.factor;
  all.provenance.note += fmt::format("{}times x {:.4g}", all.provenance.note.empty() ? "" : "; ", factor);
  all.update = factor * all.update;
  for (std::optional<Seconds>* span : {&all.forward_span, &all.backward_span}) {
    if (*span) *span = factor * **span;
  }
  for (Layer& layer : all.layers) {
    layer.forward = factor * layer.forward;
    layer.backward = factor * layer.backward;
    for (std::optional<Quartiles>* quartiles : {&layer.forward_quartiles, &layer.backward_quartiles}) {
      if (!*quartiles) continue;
      for (Seconds& time : **quartiles) time = factor * time;
    }
  }
  for (Gradient& gradient : all.gradients) {
    if (gradient.ready) gradient.ready = factor * *gradient.ready;
  }
  return all;
}

}  // namespace syncopate
