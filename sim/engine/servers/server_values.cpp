#include "engine/servers/server_values.hpp"

namespace syncopate {

ServerValues::ServerValues(Dataflow* flow, const ServerRule& rule, int clients, int summed)
    : flow_(flow),
      rule_(rule),
      clients_(clients),
      summed_(summed),
      replica_(flow, Dataflow::Makers::one),
      seen_(static_cast<std::size_t>(clients), replica_.model()) {}

void ServerValues::handle(int client, int round, const Values& pushed) {
  if (flow_ == nullptr || pushed.empty()) return;
  if (!rule_.sums_rounds) {
    const Values seen = seen_[static_cast<std::size_t>(client)].parts(pushed.first(), pushed.size());
    return rule_.handle(replica_, pushed, seen, clients_);
  }
  Round& its = rounds_[{round, pushed.first()}];
  its[client] = pushed;
  if (static_cast<int>(its.size()) < summed_) return;
  std::vector<Values> all;
  all.reserve(its.size());
  for (const auto& [by, value] : its) all.push_back(value);
  rule_.handle(replica_, flow_->value(mean(all)), Values(), clients_);
  rounds_.erase({round, pushed.first()});
}

void ServerValues::answer(int client, std::size_t index, const Values& pushed, bool all) {
  if (flow_ == nullptr || (pushed.empty() && !all)) return;
  const Values model = all ? replica_.model() : replica_.model().parts(pushed.first(), pushed.size());
  seen_[static_cast<std::size_t>(client)].replace(model);
  answers_[{client, index}] = model;
}

Values ServerValues::take(int client, std::size_t index) {
  if (flow_ == nullptr) return {};
  const auto found = answers_.find({client, index});
  if (found == answers_.end()) return {};
  Values model = std::move(found->second);
  answers_.erase(found);
  return model;
}

}  // namespace syncopate
