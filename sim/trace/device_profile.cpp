#include "trace/device_profile.hpp"

#include <fmt/format.h>

#include <array>

#include "base/choice.hpp"

namespace syncopate {

namespace {

constexpr std::array classes = {CostClass::convolution,   CostClass::convolution_3x3, CostClass::linear,      CostClass::attention,
                                CostClass::normalization, CostClass::pooling,         CostClass::elementwise, CostClass::join,
                                CostClass::embedding};
constexpr std::array dtypes = {std::pair{"fp32", 4.0}, std::pair{"tf32", 4.0}, std::pair{"fp16", 2.0}, std::pair{"bf16", 2.0},
                               std::pair{"fp64", 8.0}};

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

std::vector<ProfileError> read_errors(const Field& field) {
  if (field.json() == "unknown") return {};
  if (!field.json().is_array()) field.fail(R"("unknown" or a list such as [{"against": "...", "quantity": "backward", "relative": 0.03}])");
  std::vector<ProfileError> errors;
  for (const Field& element : field.list()) {
    Object fields(element);
    errors.push_back({fields.at("against").text(), fields.at("quantity").text(), fields.at("relative").number(-1, 1e6)});
    fields.finish();
  }
  return errors;
}

/// Six significant digits: more would pretend to a precision that no fit has.
double rounded(double value) { return std::stod(fmt::format("{:.6g}", value)); }

Json cost_json(const LayerCost& cost) {
  Json json = Json::object();
  if (cost.launch > Seconds(0)) json["launch_s"] = rounded(cost.launch.value);
  if (cost.s_per_mac > 0) json["macs_per_s"] = rounded(1 / cost.s_per_mac);
  if (cost.activations > SecondsPerByte(0)) json["bandwidth"] = rounded(1 / cost.activations.value);
  if (cost.weights > SecondsPerByte(0)) json["weight_bandwidth"] = rounded(1 / cost.weights.value);
  return json;
}

Json direction_json(const DeviceProfile::Direction& direction) {
  return {{"forward", cost_json(direction.forward)}, {"backward", cost_json(direction.backward)}};
}

}  // namespace

const DeviceProfile::Direction* DeviceProfile::cost(CostClass cost_class) const {
  const auto found = costs.find(cost_class);
  if (found != costs.end()) return &found->second;
  if (cost_class == CostClass::convolution_3x3) return cost(CostClass::convolution);
  return others ? &*others : nullptr;
}

std::string DeviceProfile::describe_errors() const {
  std::vector<std::string> texts;
  for (const ProfileError& error : errors) {
    texts.push_back(fmt::format("{} {:+.1f}% against {}", error.quantity, 100 * error.relative, error.against));
  }
  return texts.empty() ? "unknown" : fmt::format("{}", fmt::join(texts, ", "));
}

DeviceProfile read_device_profile(const Document& document) {
  Object fields{Field(document)};
  DeviceProfile profile;
  profile.file = document.file();
  fields.format("device/1", true);
  profile.name = fields.at("name").text();
  profile.kind = choose_name(fields.at("kind"), {"gpu", "cpu"});
  profile.source = fields.at("source").text();
  std::vector<std::string> names;
  for (const auto& [name, bytes] : dtypes) names.emplace_back(name);
  profile.dtype = choose_name(fields.at("dtype"), names);
  if (const auto gpus = fields.find("gpus")) profile.gpus = gpus->integer(1, 1024);
  Object costs(fields.at("costs"));
  for (const CostClass cost_class : classes) {
    if (const auto cost = costs.find(std::string(name_of(cost_class)))) profile.costs.emplace(cost_class, read_direction(*cost));
  }
  if (const auto others = costs.find("others")) profile.others = read_direction(*others);
  costs.finish();
  if (const auto update = fields.find("update")) profile.update = read_cost(*update);
  profile.errors = read_errors(fields.at("error"));
  fields.finish();
  return profile;
}

std::string write_device_profile(const DeviceProfile& profile) {
  Json json = {
      {"format", "device/1"}, {"name", profile.name}, {"kind", profile.kind}, {"source", profile.source}, {"dtype", profile.dtype}};
  if (profile.gpus != 1) json["gpus"] = profile.gpus;
  json["costs"] = Json::object();
  for (const auto& [cost_class, direction] : profile.costs) json["costs"][std::string(name_of(cost_class))] = direction_json(direction);
  if (profile.others) json["costs"]["others"] = direction_json(*profile.others);
  json["update"] = cost_json(profile.update);
  if (profile.errors.empty()) json["error"] = "unknown";
  for (const ProfileError& error : profile.errors) {
    json["error"].push_back(
        {{"against", error.against}, {"quantity", error.quantity}, {"relative", std::stod(fmt::format("{:.3g}", error.relative))}});
  }
  return json.dump(2) + "\n";
}

std::optional<double> element_bytes(std::string_view dtype) {
  for (const auto& [name, bytes] : dtypes) {
    if (name == dtype) return bytes;
  }
  return std::nullopt;
}

LayerWork work_of(const ModelLayer& layer, double samples, double bytes_per_element) {
  return {layer.macs * samples, Bytes(layer.activations * samples * bytes_per_element), Bytes(layer.parameters() * bytes_per_element)};
}

}  // namespace syncopate
