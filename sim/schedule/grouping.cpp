#include "schedule/grouping.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/choice.hpp"
#include "base/document.hpp"

namespace syncopate {

Bytes bytes_of(const GradientGroup& group, const StepProfile& profile) {
  Bytes bytes;
  for (std::size_t i = group.first; i <= group.last; ++i) bytes += profile.gradients[i].bytes;
  return bytes;
}

Seconds communication_end(const Grouping& grouping, const StepProfile& profile, const CostCurve& cost) {
  Seconds free;
  for (const GradientGroup& group : grouping) {
    free = std::max(free, group.post_at) + cost(bytes_of(group, profile));
  }
  return free;
}

Json describe(const Grouping& grouping, const StepProfile& profile) {
  Json groups = Json::array();
  for (const GradientGroup& group : grouping) {
    Json names = Json::array();
    for (std::size_t i = group.first; i <= group.last; ++i) {
      for (std::string& name : profile.gradients[i].names()) names.push_back(std::move(name));
    }
    groups.push_back({{"bytes", std::llround(bytes_of(group, profile).value)}, {"parameters", std::move(names)}});
  }
  return groups;
}

GroupingFunction read_grouping(const Field& field) {
  const std::span<const GroupingRow> table = groupings();
  if (!field.is_object()) {
    const Document no_parameters(Json::object(), "grouping");
    Object fields{Field(no_parameters)};
    return choose(field, table).read(fields);
  }
  Object fields(field);
  GroupingFunction group = choose(fields.at("name"), table).read(fields);
  fields.finish();
  return group;
}

}  // namespace syncopate
