#include "trace/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "trace/step_profile.hpp"

namespace syncopate {

namespace {

/// The layer's kernels from the trace's "timing"."kernels". Empty if that has another form: "timing" is free-form.
std::vector<std::string> kernels_of(const Trace& trace, const std::string& layer) {
  std::vector<std::string> names;
  const auto kernels = trace.timing.find("kernels");
  if (kernels == trace.timing.end() || !kernels->is_object() || !kernels->contains(layer)) return names;
  for (const Json& name : (*kernels)[layer]) {
    if (name.is_string() && !name.get<std::string>().empty()) names.push_back(name.get<std::string>());
  }
  return names;
}

void sort_by_difference(std::vector<LayerComparison>& rows) {
  const auto size = [](const LayerComparison& row) { return std::abs(row.difference().value); };
  std::stable_sort(rows.begin(), rows.end(), [size](const LayerComparison& a, const LayerComparison& b) { return size(a) > size(b); });
}

void add(TimePair& sum, const TimePair& part) {
  sum.first += part.first;
  sum.second += part.second;
}

TimePair sum_of_layers(const Trace& first, const Trace& second, Seconds Layer::*way) {
  TimePair sum;
  for (const Layer& layer : first.layers) sum.first += layer.*way;
  for (const Layer& layer : second.layers) sum.second += layer.*way;
  return sum;
}

Json json_of(const TimePair& pair) { return {pair.first.value, pair.second.value}; }

Json json_of(const Trace& trace) {
  return {{"file", trace.file},           {"provenance", trace.provenance.kind},
          {"device", trace.device},       {"model", trace.model},
          {"batch", trace.batch},         {"dtype", trace.dtype},
          {"layers", trace.layers.size()}};
}

Json json_of(const LayerComparison& row) {
  Json json = {{"name", row.name}, {"forward_s", json_of(row.forward)}, {"backward_s", json_of(row.backward)}};
  if (row.other.empty()) {
    json["layers"] = row.layers;
  } else {
    json["other"] = row.other;
  }
  if (!row.kernels.empty()) json["kernels"] = row.kernels;
  if (!row.other_kernels.empty()) json["other_kernels"] = row.other_kernels;
  return json;
}

}  // namespace

TraceComparison compare_traces(const Trace& first, const Trace& second) {
  const StepProfile before = step_profile(first, Granularity::tensor);
  const StepProfile after = step_profile(second, Granularity::tensor);
  TraceComparison result = {{before.forward, after.forward},
                            {before.backward, after.backward},
                            {before.update, after.update},
                            {before.compute(), after.compute()},
                            sum_of_layers(first, second, &Layer::forward),
                            sum_of_layers(first, second, &Layer::backward),
                            match_layers(first, second),
                            {},
                            {}};
  std::map<std::string, LayerComparison> types;
  for (const auto& [ours, theirs] : result.match.pairs) {
    const Layer& a = first.layers[ours];
    const Layer& b = second.layers[theirs];
    result.layers.push_back(
        {a.name, b.name, 1, {a.forward, b.forward}, {a.backward, b.backward}, kernels_of(first, a.name), kernels_of(second, b.name)});
    LayerComparison& type = types.try_emplace(a.type, LayerComparison{a.type, "", 0, {}, {}, {}, {}}).first->second;
    ++type.layers;
    add(type.forward, result.layers.back().forward);
    add(type.backward, result.layers.back().backward);
  }
  std::transform(types.begin(), types.end(), std::back_inserter(result.types), [](const auto& type) { return type.second; });
  sort_by_difference(result.layers);
  sort_by_difference(result.types);
  return result;
}

std::string write_comparison(const TraceComparison& comparison, const Trace& first, const Trace& second) {
  Json head = {{"format", "comparison/1"},
               {"first", json_of(first)},
               {"second", json_of(second)},
               {"forward_s", json_of(comparison.forward)},
               {"backward_s", json_of(comparison.backward)},
               {"update_s", json_of(comparison.update)},
               {"iteration_s", json_of(comparison.iteration)},
               {"forward_of_layers_s", json_of(comparison.forward_of_layers)},
               {"backward_of_layers_s", json_of(comparison.backward_of_layers)},
               {"matched_by", comparison.match.rule}};
  std::string text = "{\n";
  for (const auto& [key, value] : head.items()) text += fmt::format("{}: {},\n", Json(key).dump(), value.dump());
  const auto lines = [](const std::vector<LayerComparison>& rows) {
    std::vector<std::string> texts(rows.size());
    std::transform(rows.begin(), rows.end(), texts.begin(), [](const LayerComparison& row) { return json_of(row).dump(); });
    return fmt::format("{}", fmt::join(texts, ",\n"));
  };
  return text + fmt::format("\"types\": [\n{}\n],\n\"layers\": [\n{}\n]\n}}\n", lines(comparison.types), lines(comparison.layers));
}

}  // namespace syncopate
