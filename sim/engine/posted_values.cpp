#include "engine/posted_values.hpp"

namespace syncopate {

void PostedValues::post(int stream, Ticket ticket, int rank, const Values& value) { collectives_[{stream, ticket}].by_rank[rank] = value; }

Values PostedValues::mean(int stream, Ticket ticket) {
  const auto found = collectives_.find({stream, ticket});
  if (found == collectives_.end()) return {};
  Collective& its = found->second;
  if (its.taken == 0) {
    std::vector<Values> posted;
    posted.reserve(its.by_rank.size());
    for (const auto& [rank, value] : its.by_rank) posted.push_back(value);
    its.mean = flow_->value(syncopate::mean(posted));
  }
  Values mean = its.mean;
  if (++its.taken == its.by_rank.size()) collectives_.erase(found);
  return mean;
}

}  // namespace syncopate
