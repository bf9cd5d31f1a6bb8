#include "engine/posted_values.hpp"

namespace syncopate {

void PostedValues::post(int stream, Ticket ticket, int rank, const Values& value) {
  if (!value.empty()) collectives_[{stream, ticket}].by_rank[rank] = value;
}

Sum PostedValues::mean(int stream, Ticket ticket) {
  const auto found = collectives_.find({stream, ticket});
  if (found == collectives_.end()) return {};
  Collective& its = found->second;
  std::vector<Values> posted;
  posted.reserve(its.by_rank.size());
  for (const auto& [rank, value] : its.by_rank) posted.push_back(value);
  if (++its.taken == its.by_rank.size()) collectives_.erase(found);
  return syncopate::mean(posted);
}

}  // namespace syncopate
