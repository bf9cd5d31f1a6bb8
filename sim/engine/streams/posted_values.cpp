#include "engine/streams/posted_values.hpp"

#include <algorithm>

namespace syncopate {

void PostedValues::post(int stream, Ticket ticket, int rank, const Values& value) {
  Collective& its = collectives_[{stream, ticket}];
  its.posted.emplace_back(rank, value);
  ++its.takers;
}

void PostedValues::expect(int stream, Ticket ticket) { ++collectives_[{stream, ticket}].takers; }

Values PostedValues::mean(int stream, Ticket ticket) {
  const auto found = collectives_.find({stream, ticket});
  if (found == collectives_.end()) return {};
  Collective& its = found->second;
  if (its.taken == 0) {
    std::sort(its.posted.begin(), its.posted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    Sum sum;
    for (const auto& [rank, value] : its.posted) sum.add(1.0 / static_cast<double>(its.posted.size()), value);
    its.mean = flow_->value(sum);
  }
  Values mean = its.mean;
  if (++its.taken == its.takers) collectives_.erase(found);
  return mean;
}

}  // namespace syncopate
