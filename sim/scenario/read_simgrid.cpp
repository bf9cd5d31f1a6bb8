#include "scenario/read_simgrid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/choice.hpp"
#include "base/document.hpp"
#include "cluster/simgrid_settings.hpp"

namespace syncopate {

namespace {

constexpr std::array network_models = {"CM02", "LV08", "SMPI", "IB"};
constexpr std::array setting_groups = {"network/", "smpi/", "surf/", "maxmin/"};

std::string read_model(const Field& field) {
  if (field.json() == "ns-3") {
    field.fail_because(
        "SimGrid hands messages to ns-3 only over routes of one link; use \"LV08\" or \"SMPI\", whose factors come from measurements");
  }
  if (field.json() == "Constant")
    field.fail_because("SimGrid's \"Constant\" has no links: every message takes a second; use \"CM02\" or \"LV08\"");
  return choose_name(field, {network_models.begin(), network_models.end()});
}

/// A value as SimGrid reads it.
std::string setting(const Field& field) {
  if (field.json().is_string()) return field.text();
  if (field.json().is_boolean()) return field.boolean() ? "1" : "0";
  if (!field.json().is_number()) field.fail("a text, a number, true or false, as SimGrid's setting wants it");
  return fmt::format("{}", field.json().get<double>());
}

void read_config(const Field& field, SimGridModel& model) {
  Object settings(field);
  for (const auto& [name, value] : field.json().items()) {
    const Field entry = settings.at(name);
    const auto begins = [&name = name](std::string_view group) { return name.starts_with(group); };
    if (name == "network/model") entry.fail_because("the network model has a key of its own; use \"network_model\"");
    if (std::none_of(setting_groups.begin(), setting_groups.end(), begins)) {
      entry.fail_because(fmt::format("only SimGrid's settings of networks may be given, which begin with {}; leave \"{}\" out",
                                     fmt::join(setting_groups, ", "), name));
    }
    model.config.emplace_back(name, setting(entry));
  }
}

}  // namespace

SimGridModel read_simgrid(const Field& field, const std::optional<Fidelity>& fidelity) {
  if (fidelity != Fidelity::simgrid) field.fail_because(R"(it is for "fidelity": "simgrid"; use that, or leave "simgrid" out)");
  Object fields(field);
  SimGridModel model;
  if (const auto name = fields.find("network_model")) model.network_model = read_model(*name);
  const auto config = fields.find("config");
  if (config) read_config(*config, model);
  if (const auto fair = fields.find("fair")) {
    model.fair = fair->boolean();
    if (model.fair && model.network_model != "CM02") {
      fair->fail_because(
          fmt::format("its latencies are waits, which {}'s factors do not reach; use \"network_model\": \"CM02\" or leave \"fair\" out",
                      model.network_model));
    }
  }
  fields.finish();
  if (const std::optional<RefusedSetting> refused = refused_setting(model.settings())) {
    const bool is_own = config && config->json().contains(refused->name);
    const Field place = is_own ? Object(*config).at(refused->name) : config.value_or(field);
    place.fail_because(fmt::format("SimGrid refuses it: {}", refused->reason));
  }
  return model;
}

}  // namespace syncopate
