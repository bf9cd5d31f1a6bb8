#include "engine/streams/posted_values.hpp"

#include <algorithm>

namespace syncopate {

void PostedValues::post(int stream, Ticket ticket, int rank, const Values& value) {
  Collective& collective = collectives_[{stream, ticket}];
  collective.posted.emplace_back(rank, value);
  ++collective.takers;
}

void PostedValues::expect(int stream, Ticket ticket) { ++collectives_[{stream, ticket}].takers; }

Values PostedValues::mean(int stream, Ticket ticket) {
  const auto found = collectives_.find({stream, ticket});
  if (found == collectives_.end()) return {};
  Collective& collective = found->second;
  if (collective.taken == 0) {
    std::sort(collective.posted.begin(), collective.posted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    Sum sum;
    for (const auto& [rank, value] : collective.posted) sum.add(1.0 / static_cast<double>(collective.posted.size()), value);
    collective.mean = dataflow_->value(sum);
  }
  Values mean = collective.mean;
  if (++collective.taken == collective.takers) collectives_.erase(found);
  return mean;
}

}  // namespace syncopate
