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

bool has_space(std::string_view text) { return text.find_first_of(" \t\n\r\v\f") != std::string_view::npos; }

/// A value as SimGrid reads it: of lists such as `0:1;65472:0.94`, no number is below 0.
std::string setting(const Field& field) {
  if (field.json().is_boolean()) return field.boolean() ? "1" : "0";
  if (!field.json().is_string() && !field.json().is_number()) field.fail("a text, a number, true or false, as SimGrid's setting wants it");
  const std::string text = field.json().is_string() ? field.text() : fmt::format("{}", field.json().get<double>());
  if (has_space(text)) field.fail("a value without spaces, which SimGrid takes for the next setting");
  for (std::size_t minus = text.find('-'); minus != std::string::npos; minus = text.find('-', minus + 1)) {
    const bool is_exponent = minus > 0 && (text[minus - 1] == 'e' || text[minus - 1] == 'E');
    if (!is_exponent) field.fail("numbers of 0 or more");
  }
  return text;
}

/// Throws InputError if the setting has no effect on what is simulated.
void check_effect(const std::string& name, const Field& entry, const SimGridModel& model) {
  const bool is_of_mpi = name.starts_with("smpi/");
  if (is_of_mpi && model.network_model != "SMPI" && model.network_model != "IB") {
    entry.fail_because(fmt::format("{} has no settings of SMPI; use \"network_model\": \"SMPI\", or leave it out", model.network_model));
  }
  const bool is_factor = name == "smpi/lat-factor" || name == "smpi/bw-factor" || name == "smpi/IB-penalty-factors";
  if ((is_of_mpi && !is_factor) || name.starts_with("network/loopback"))
    entry.fail_because("it has no effect: no message goes to its own host, and no MPI program runs; leave it out");
}

void read_config(const Field& field, SimGridModel& model) {
  Object settings(field);
  for (const auto& [name, value] : field.json().items()) {
    const Field entry = settings.at(name);
    const auto begins = [&name = name](std::string_view group) { return name.starts_with(group); };
    if (name == "network/model") entry.fail_because("the network model has a key of its own; use \"network_model\"");
    if (std::none_of(setting_groups.begin(), setting_groups.end(), begins) || has_space(name) || name.find(':') != std::string::npos) {
      entry.fail_because(fmt::format("only SimGrid's settings of networks may be given, which begin with {}; leave \"{}\" out",
                                     fmt::join(setting_groups, ", "), name));
    }
    check_effect(name, entry, model);
    model.config.emplace_back(name, setting(entry));
  }
}

/// The setting that SimGrid refuses; all of them where it refuses none by itself.
Field refused_entry(const Field& config, const SimGridModel& model, const std::string& name) {
  Object settings(config);
  if (config.json().contains(name)) return settings.at(name);
  for (const auto& entry : model.config) {
    SimGridModel alone = model;
    alone.config = {entry};
    if (model.config.size() == 1 || refused_setting(alone.settings())) return settings.at(entry.first);
  }
  return config;
}

}  // namespace

SimGridModel read_simgrid(const Field& field, const std::optional<Fidelity>& fidelity) {
  if (fidelity != Fidelity::simgrid)
    field.fail_because(R"(it is for "fidelity": "simgrid"; use that, leave "simgrid" out, or sweep both as one of named cases)");
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
    if (model.fair && !model.config.empty())
      fair->fail_because("it is SimGrid's exact form, which \"config\" would change; leave one of them out");
  }
  fields.finish();
  if (const std::optional<RefusedSetting> refused = refused_setting(model.settings())) {
    const Field place = config ? refused_entry(*config, model, refused->name) : field;
    place.fail_because(fmt::format("SimGrid refuses it: {}", refused->reason));
  }
  return model;
}

}  // namespace syncopate
