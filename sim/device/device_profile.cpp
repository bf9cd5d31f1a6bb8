#include "device/device_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/choice.hpp"
#include "base/document.hpp"
#include "base/errors.hpp"
#include "base/fields.hpp"
#include "model/dtype.hpp"

namespace syncopate {

namespace {

LayerCost read_cost(const Field& field) {
  Object fields(field);
  LayerCost cost;
  if (const auto launch = fields.find("launch_s")) cost.launch = launch->seconds();
  if (const auto macs = fields.find("macs_per_s")) cost.s_per_mac = 1 / macs->positive(1e30);
  if (const auto bandwidth = fields.find("bandwidth")) cost.activations = inverse(bandwidth->bandwidth());
  if (const auto bandwidth = fields.find("weight_bandwidth")) cost.weights = inverse(bandwidth->bandwidth());
  fields.finish();
  return cost;
}

DeviceProfile::Direction read_direction(const Field& field) {
  Object fields(field);
  DeviceProfile::Direction direction{read_cost(fields.at("forward")), read_cost(fields.at("backward"))};
  fields.finish();
  return direction;
}

/// The figures of an error: key in the file, and text for people.
struct ErrorFigure {
  const char* key;
  std::string_view text;
  std::optional<double> ProfileError::*value;
};

constexpr std::array error_figures = {ErrorFigure{"forward", "forward", &ProfileError::forward},
                                      ErrorFigure{"backward", "backward", &ProfileError::backward},
                                      ErrorFigure{"median_layer", "median layer off by", &ProfileError::median_layer},
                                      ErrorFigure{"samples_per_s", "samples/s", &ProfileError::samples_per_s}};

/// Such as "+0.6%". The median layer's error has no sign, and there is no "-0.0%".
std::string figure_text(const ErrorFigure& figure, double relative) {
  const double percent = std::round(1000 * relative) / 10 + 0.0;
  return figure.value == &ProfileError::median_layer ? fmt::format("{:.1f}%", percent) : fmt::format("{:+.1f}%", percent);
}

std::vector<ProfileError> read_errors(const Field& field) {
  if (field.json() == "unknown") return {};
  if (!field.is_list()) field.fail(R"("unknown" or a list such as [{"against": "...", "backward": 0.03}])");
  std::vector<ProfileError> errors;
  for (const Field& element : field.list()) {
    Object fields(element);
    ProfileError error;
    error.against = fields.at("against").text();
    if (const auto model = fields.find("model")) error.model = model->text();
    for (const ErrorFigure& figure : error_figures) {
      if (const auto value = fields.find(figure.key)) error.*figure.value = value->number(-1, 1e6);
    }
    fields.finish();
    errors.push_back(std::move(error));
  }
  return errors;
}

/// Six significant digits: no fit is more precise.
std::string cost_text(const LayerCost& cost) {
  std::vector<std::string> terms;
  const auto add = [&terms](std::string_view key, double value) { terms.push_back(fmt::format("\"{}\": {:.6g}", key, value)); };
  if (cost.launch > Seconds(0)) add("launch_s", cost.launch.value);
  if (cost.s_per_mac > 0) add("macs_per_s", 1 / cost.s_per_mac);
  if (cost.activations > SecondsPerByte(0)) add("bandwidth", 1 / cost.activations.value);
  if (cost.weights > SecondsPerByte(0)) add("weight_bandwidth", 1 / cost.weights.value);
  return fmt::format("{{{}}}", fmt::join(terms, ", "));
}

std::string direction_text(std::string_view name, const DeviceProfile::Direction& direction) {
  return fmt::format("    \"{}\": {{\n      \"forward\": {},\n      \"backward\": {}\n    }}", name, cost_text(direction.forward),
                     cost_text(direction.backward));
}

std::string error_text(const ProfileError& error) {
  std::string text = fmt::format("    {{\"against\": {}", Json(error.against).dump());
  if (!error.model.empty()) text += fmt::format(", \"model\": {}", Json(error.model).dump());
  for (const ErrorFigure& figure : error_figures) {
    if (error.*figure.value) text += fmt::format(", \"{}\": {:.3g}", figure.key, *(error.*figure.value));
  }
  return text + "}";
}

}  // namespace

const DeviceProfile::Direction* DeviceProfile::cost(CostClass cost_class) const {
  const auto found = costs.find(cost_class);
  if (found != costs.end()) return &found->second;
  for (const CostClassRow& row : cost_classes()) {
    if (row.cost_class == cost_class && row.resembles) return cost(*row.resembles);
  }
  return others ? &*others : nullptr;
}

const DeviceProfile::Direction& DeviceProfile::cost_of(const ModelLayer& layer, const std::string& model) const {
  if (const Direction* found = cost(layer.cost_class())) return *found;
  const std::string_view missing = name_of(layer.cost_class());
  throw InputError(fmt::format("{}: /costs: no cost for {} layers, such as \"{}\" of {}; add \"{}\" or \"others\"", file, missing,
                               layer.name, model, missing));
}

std::string DeviceProfile::describe_errors() const {
  std::vector<std::string> texts;
  for (const ProfileError& error : errors) {
    std::vector<std::string> figures;
    for (const ErrorFigure& figure : error_figures) {
      if (const std::optional<double> value = error.*figure.value)
        figures.push_back(fmt::format("{} {}", figure.text, figure_text(figure, *value)));
    }
    texts.push_back(fmt::format("{} against {}", fmt::join(figures, ", "), error.against));
  }
  return texts.empty() ? "unknown" : fmt::format("{}", fmt::join(texts, "; "));
}

DeviceProfile read_device_profile(const Document& document) {
  Object fields{Field(document)};
  DeviceProfile profile;
  profile.file = document.file();
  fields.format("device/1", true);
  profile.name = fields.at("name").name();
  profile.kind = choose_name(fields.at("kind"), {"gpu", "cpu"});
  profile.source = fields.at("source").text();
  profile.dtype = choose_name(fields.at("dtype"), dtype_names());
  if (const auto gpus = fields.find("gpus")) profile.gpus = gpus->integer(1, 1024);
  Object costs(fields.at("costs"));
  for (const CostClassRow& row : cost_classes()) {
    if (row.cost_class == CostClass::free) continue;
    if (const auto cost = costs.find(std::string(row.name))) profile.costs.emplace(row.cost_class, read_direction(*cost));
  }
  if (const auto others = costs.find("others")) profile.others = read_direction(*others);
  costs.finish();
  if (const auto update = fields.find("update")) profile.update = read_cost(*update);
  profile.errors = read_errors(fields.at("error"));
  fields.finish();
  return profile;
}

std::string write_device_profile(const DeviceProfile& profile) {
  const auto quoted = [](const std::string& text) { return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace); };
  std::string text = "{\n  \"format\": \"device/1\",\n";
  text += fmt::format("  \"name\": {},\n  \"kind\": \"{}\",\n", quoted(profile.name), profile.kind);
  text += fmt::format("  \"source\": {},\n  \"dtype\": \"{}\",\n", quoted(profile.source), profile.dtype);
  if (profile.gpus != 1) text += fmt::format("  \"gpus\": {},\n", profile.gpus);
  std::vector<std::string> costs;
  for (const auto& [cost_class, direction] : profile.costs) costs.push_back(direction_text(name_of(cost_class), direction));
  if (profile.others) costs.push_back(direction_text("others", *profile.others));
  text += fmt::format("  \"costs\": {{\n{}\n  }},\n", fmt::join(costs, ",\n"));
  text += fmt::format("  \"update\": {},\n", cost_text(profile.update));
  std::vector<std::string> errors;
  for (const ProfileError& error : profile.errors) errors.push_back(error_text(error));
  if (errors.empty()) return text + "  \"error\": \"unknown\"\n}\n";
  return text + fmt::format("  \"error\": [\n{}\n  ]\n}}\n", fmt::join(errors, ",\n"));
}

LayerWork work_of(const ModelLayer& layer, double samples, double bytes_per_element) {
  return {layer.macs * samples, Bytes(layer.activations * samples * bytes_per_element), Bytes(layer.parameters() * bytes_per_element)};
}

}  // namespace syncopate
