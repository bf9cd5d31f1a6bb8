#include <algorithm>
#include <array>

#include "base/choice.hpp"
#include "schedule/grouping.hpp"

namespace syncopate {

namespace {

/// A way to group gradients, for an all-reduce (a schedule of its own) or for a server.
struct GroupingRow {
  std::string_view name;
  GroupingFunction (*read)(Object& fields);
  bool by_cost = false;  ///< it looks at what communication costs
};

template <auto group>
GroupingFunction read_plain(Object& /*fields*/) {
  return group;
}

GroupingFunction read_fusion(Object& fields) {
  const auto first_bucket = fields.find("first_bucket");
  const auto bucket = fields.find("bucket");
  const Bytes first_bytes = first_bucket ? first_bucket->bytes() : Bytes(1 << 20);
  const Bytes bytes = bucket ? bucket->bytes() : Bytes(25 << 20);
  return [first_bytes, bytes](const StepProfile& profile, const CostLine&) { return group_fusion(profile, first_bytes, bytes); };
}

constexpr std::array groupings = {
    GroupingRow{"s-sgd", read_plain<group_s_sgd>},
    GroupingRow{"wfbp", read_plain<group_wfbp>},
    GroupingRow{"sync-easgd", read_plain<group_sync_easgd>},
    GroupingRow{"mg-wfbp", read_plain<group_mg_wfbp>, true},
    GroupingRow{"mg-wfbp-optimal", read_plain<group_mg_wfbp_optimal>, true},
    GroupingRow{"fusion", read_fusion},
};

}  // namespace

bool groups_by_cost(std::string_view name) {
  return std::any_of(groupings.begin(), groupings.end(), [&](const GroupingRow& row) { return row.name == name && row.by_cost; });
}

GroupingFunction read_grouping(Object& fields) { return choose<GroupingRow>(fields.at("name"), groupings).read(fields); }

GroupingFunction read_grouping(const Field& field) {
  if (!field.json().is_object()) {
    const Document no_parameters(Json::object(), "grouping");
    Object fields{Field(no_parameters)};
    return choose<GroupingRow>(field, groupings).read(fields);
  }
  Object fields(field);
  GroupingFunction group = read_grouping(fields);
  fields.finish();
  return group;
}

}  // namespace syncopate
