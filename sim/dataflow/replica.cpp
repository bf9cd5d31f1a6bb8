#include "dataflow/replica.hpp"

namespace syncopate {

namespace {

std::size_t states_of(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::sgd: return 0;
    case Optimizer::momentum:
    case Optimizer::nesterov: return 1;
    case Optimizer::adam:
    case Optimizer::adamw: return 3;  // both moments and the number of steps
  }
  return 0;
}

}  // namespace

Replica::Replica(Dataflow* flow, Dataflow::Makers makers) : flow_(flow), makers_(makers) {
  if (flow_ == nullptr) return;
  model_ = flow_->initial();
  for (std::size_t i = 0; i < states_of(flow_->optimizer()); ++i) state_.push_back(flow_->zero(0, flow_->parts()));
}

void Replica::become(const Sum& model) {
  if (flow_ != nullptr) model_.replace(flow_->value(model, makers_));
}

void Replica::step(const Sum& gradient) {
  if (flow_ == nullptr || gradient.empty()) return;
  const std::size_t first = gradient.terms().front().values.first();
  const std::size_t count = gradient.terms().front().values.size();
  if (state_.empty()) return become(model_.parts(first, count) - hyper::lr * gradient);
  std::vector<Values> arguments = {model_.parts(first, count)};
  for (const Values& state : state_) arguments.push_back(state.parts(first, count));
  arguments.push_back(flow_->value(gradient, makers_));
  const std::vector<Values> results = flow_->apply(to_string(flow_->optimizer()), arguments, arguments.size() - 1, makers_);
  model_.replace(results.front());
  for (std::size_t i = 0; i < state_.size(); ++i) state_[i].replace(results[i + 1]);
}

void Replica::compensated_step(const Sum& gradient, const Values& computed_on) {
  if (flow_ == nullptr || gradient.empty()) return;
  const Values along = flow_->value(gradient, makers_);
  const std::vector<Values> arguments = {model_.parts(along.first(), along.size()), computed_on, along};
  model_.replace(flow_->apply("delay-compensated", arguments, 1, makers_).front());
}

}  // namespace syncopate
