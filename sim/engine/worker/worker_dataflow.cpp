#include "engine/worker/worker_dataflow.hpp"

#include "engine/job_run.hpp"

namespace syncopate {

WorkerDataflow::WorkerDataflow(WorkerState& worker)
    : worker_(worker), replica_(worker.job().job().dataflow.get(), Dataflow::Makers::many) {}

bool WorkerDataflow::has_momentum() const {
  if (!is_recorded()) return false;
  const Optimizer optimizer = worker_.job().job().dataflow->optimizer();
  return optimizer == Optimizer::momentum || optimizer == Optimizer::nesterov;
}

Values WorkerDataflow::gradient() {
  if (is_recorded() && gradient_.empty()) {
    gradient_ = worker_.job().job().dataflow->gradient(worker_.rank(), worker_.step(), computed_on_, worker_.now());
  }
  return gradient_;
}

void WorkerDataflow::compute_on_model() {
  computed_on_ = replica_.model();
  worker_.job().evaluate(worker_, replica_);
}

Values WorkerDataflow::value(const Sum& sum) const { return is_recorded() ? worker_.job().job().dataflow->value(sum) : Values(); }

Values WorkerDataflow::compress(std::string_view way, const Sum& sent, Values& residual) const {
  return is_recorded() ? worker_.job().job().dataflow->compress(way, value(sent), residual) : Values();
}

}  // namespace syncopate
