#include "schedule/sender.hpp"

#include "schedule/posts.hpp"

namespace syncopate {

Sender::Sender(const Compression& compression, std::size_t messages) : compression_(compression), residuals_(messages) {}

Values Sender::take(Worker& worker, std::size_t message, const Sum& all) {
  const Sum carried = is_in_parts(worker) ? all.part(message) : all;
  if (compression_.is_none()) return worker.dataflow().value(carried);
  return worker.dataflow().compress(compression_.way(worker.step()), carried, residuals_[message]);
}

std::vector<ModelPart> parts_of(const Grouping& grouping, const StepProfile& profile) {
  std::vector<ModelPart> parts;
  for (const GroupPost& group : group_posts(grouping, profile)) parts.push_back({group.payload->label, group.payload->bytes});
  return parts;
}

}  // namespace syncopate
