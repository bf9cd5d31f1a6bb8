#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/document.hpp"
#include "base/errors.hpp"
#include "base/text.hpp"
#include "schedule/grouping.hpp"

namespace syncopate {

namespace {

GivenGroups::Group read_group(const Field& field) {
  constexpr std::int64_t most = 1'000'000;
  GivenGroups::Group group = {.where = fmt::format("{}: {}", field.document().file(), field.pointer())};
  const auto read_names = [&group](const Field& list) {
    for (const Field& name : list.list()) group.names.push_back(name.text());
    if (group.names.empty()) list.fail("at least one gradient's name");
  };
  if (field.is_list()) {
    read_names(field);
  } else if (field.is_object()) {
    Object fields(field);
    const auto bytes = fields.find("bytes");
    const auto names = fields.find("parameters");
    if (bytes) group.bytes = bytes->bytes();
    if (names) read_names(*names);
    if (!bytes && !names) field.fail(R"("parameters", "bytes" or both)");
    fields.finish();
  } else {
    group.count = static_cast<std::size_t>(field.integer(1, most));
  }
  return group;
}

/// How many of the gradients from `first` on the group has. Throws InputError.
std::size_t count_of(const GivenGroups::Group& group, const std::vector<StepProfile::GradientReady>& gradients, std::size_t first) {
  const auto fail = [&group](const std::string& why) { throw InputError(fmt::format("{}: {}", group.where, why)); };
  const std::size_t left = gradients.size() - first;
  std::size_t count = group.count;
  if (!group.names.empty()) {
    std::set<std::string> names(group.names.begin(), group.names.end());
    if (names.size() < group.names.size()) fail("it names a gradient twice; keep one");
    // A layer's gradient goes by its own name, or by those of all of its parameters.
    const auto take = [&names](const StepProfile::GradientReady& gradient) {
      if (names.erase(gradient.name) > 0) return true;
      const std::vector<std::string> all = gradient.names();
      if (!std::all_of(all.begin(), all.end(), [&names](const std::string& name) { return names.contains(name); })) return false;
      for (const std::string& name : all) names.erase(name);
      return true;
    };
    count = 0;
    while (count < left && take(gradients[first + count])) ++count;
    if (!names.empty()) {
      std::vector<std::string> known;
      for (const auto& gradient : gradients) {
        known.push_back(gradient.name);
        known.insert(known.end(), gradient.parameters.begin(), gradient.parameters.end());
      }
      const bool is_known = std::find(known.begin(), known.end(), *names.begin()) != known.end();
      if (!is_known) fail(fmt::format("the trace has no gradient \"{}\"{}", *names.begin(), did_you_mean(*names.begin(), known)));
      fail(fmt::format("\"{}\" is not next: in the trace's order of readiness {} comes {}", *names.begin(), count == 0 ? "next" : "then",
                       count < left ? fmt::format("\"{}\"", gradients[first + count].name) : "nothing"));
    }
  }
  Bytes bytes;
  if (count == 0) {
    while (count < left && bytes < *group.bytes) bytes += gradients[first + count++].bytes;
  } else {
    for (std::size_t i = 0; i < std::min(count, left); ++i) bytes += gradients[first + i].bytes;
  }
  if (count > left) fail(fmt::format("{} gradient{}, but only {} left", count, count == 1 ? "" : "s", left));
  if (left == 0) fail("no gradient is left for it");
  if (group.bytes && bytes != *group.bytes) {
    fail(fmt::format("{:.0f} bytes, but the gradients from \"{}\" to \"{}\" have {:.0f}", group.bytes->value, gradients[first].name,
                     gradients[first + count - 1].name, bytes.value));
  }
  return count;
}

}  // namespace

void GivenGroups::declare(Parameters& parameters) {
  parameters.declare(
      {.name = "groups",
       .meaning = "each group's number of gradients, in the order of readiness; or their names; or a plan's, or DDP's, groups, "
                  "{\"bytes\": ..., \"parameters\": [...]}; the last one may be left out",
       .kind = ParameterInfo::Kind::groups,
       .default_value = "one group"},
      [this](const Field& field) {
        for (const Field& entry : field.list()) groups.push_back(read_group(entry));
      });
}

Grouping GivenGroups::operator()(const StepProfile& profile, const CostCurve& /*cost*/) const {
  const auto& gradients = profile.gradients;
  Grouping grouping;
  std::size_t first = 0;
  const auto add = [&](std::size_t count) {
    grouping.push_back({first, first + count - 1, gradients[first + count - 1].ready});
    first += count;
  };
  for (const Group& group : groups) add(count_of(group, gradients, first));
  if (first < gradients.size()) add(gradients.size() - first);
  return grouping;
}

}  // namespace syncopate
