#include "engine/servers/server_values.hpp"

#include <vector>

namespace syncopate {

ServerValues::ServerValues(Dataflow* dataflow, const ServerRule& rule, int clients, int summed)
    : dataflow_(dataflow),
      rule_(rule),
      clients_(clients),
      summed_(summed),
      replica_(dataflow, Dataflow::Makers::one),
      seen_(clients, replica_.model()) {}

void ServerValues::handle(int client, int round, const Values& pushed) {
  if (dataflow_ == nullptr || pushed.empty()) return;
  if (!rule_.sums_rounds) {
    const Values seen = seen_[client].parts(pushed.first(), pushed.size());
    return rule_.handle(replica_, pushed, seen, clients_);
  }
  Round& summed = rounds_[{round, pushed.first()}];
  summed[client] = pushed;
  if (static_cast<int>(summed.size()) < summed_) return;
  std::vector<Values> all;
  all.reserve(summed.size());
  for (const auto& [by, value] : summed) all.push_back(value);
  rule_.handle(replica_, dataflow_->value(mean(all)), Values(), clients_);
  rounds_.erase({round, pushed.first()});
}

void ServerValues::answer(int client, std::size_t index, const Values& pushed, bool all) {
  if (dataflow_ == nullptr || (pushed.empty() && !all)) return;
  const Values model = all ? replica_.model() : replica_.model().parts(pushed.first(), pushed.size());
  seen_[client].replace(model);
  answers_[{client, index}] = model;
}

Values ServerValues::take(int client, std::size_t index) {
  if (dataflow_ == nullptr) return {};
  const auto found = answers_.find({client, index});
  if (found == answers_.end()) return {};
  Values model = std::move(found->second);
  answers_.erase(found);
  return model;
}

}  // namespace syncopate
