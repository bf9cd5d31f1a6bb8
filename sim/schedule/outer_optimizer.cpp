#include "schedule/outer_optimizer.hpp"

#include <string>

#include "base/choice.hpp"

namespace syncopate {

void OuterOptimizer::read(const Field& field) {
  const auto choose = [this](const Field& name) {
    const std::string chosen = choose_name(name, {"nesterov", "momentum", "sgd"});
    optimizer = chosen == "sgd" ? Optimizer::sgd : chosen == "momentum" ? Optimizer::momentum : Optimizer::nesterov;
  };
  if (!field.is_object()) return choose(field);
  constexpr double most = 1000.0;
  Object fields(field);
  if (const auto name = fields.find("optimizer")) choose(*name);
  if (const auto rate = fields.find("lr")) lr = rate->number(0.0, most);
  if (const auto share = fields.find("momentum")) momentum = share->number(0.0, 1.0);
  fields.finish();
}

Sum OuterOptimizer::operator()(Worker& worker, const Values& mean, Values& velocity) const {
  if (optimizer == Optimizer::sgd) return lr * Sum(mean);
  velocity = worker.dataflow().value(momentum * Sum(velocity) + mean);
  if (optimizer == Optimizer::momentum) return lr * Sum(velocity);
  return lr * (Sum(mean) + momentum * Sum(velocity));
}

}  // namespace syncopate
