#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "base/digest.hpp"
#include "base/errors.hpp"
#include "base/fields.hpp"
#include "base/files.hpp"
#include "scenario/read.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

namespace {

constexpr std::size_t most_points = 100'000;

/// One of the values that a key of the sweep takes.
struct SweptValue {
  Json label;
  std::vector<std::pair<std::string, Json>> settings;  ///< pointers, and what is set there
};

struct SweptKey {
  std::string key;
  std::vector<SweptValue> values;
};
using Sweep = std::vector<SweptKey>;

void check_pointer(const Field& entry, const std::string& pointer) {
  if (!pointer.starts_with('/')) entry.fail_because(fmt::format("\"{}\" is not a JSON pointer such as \"/cluster/nodes\"", pointer));
  if (is_at_or_above("/sweep", pointer) || is_at_or_above("/format", pointer)) entry.fail_because("this key cannot be swept");
}

Field member(const Field& object, const std::string& key) {
  return {object.document(), object.pointer() + (JsonPointer() / key).to_string(), object.json()[key]};
}

/// A list of values for the key.
std::vector<SweptValue> read_values(const std::string& key, const Field& entry) {
  std::vector<SweptValue> values;
  const auto is_less = [](const Json* a, const Json* b) { return *a < *b; };
  std::set<const Json*, decltype(is_less)> seen(is_less);
  for (const Field& value : entry.list()) {
    if (!seen.insert(&value.json()).second) value.fail_because(fmt::format("{} is listed twice", excerpt(value.json())));
    values.push_back({value.json(), {{key, value.json()}}});
  }
  return values;
}

/// Named cases, each of which sets several keys.
std::vector<SweptValue> read_cases(const Field& entry) {
  std::vector<SweptValue> values;
  for (const auto& item : entry.json().items()) {
    const Field field = member(entry, item.key());
    if (!field.is_object()) {
      entry.fail(R"(a list of values, or an object of named cases, such as {"ring": {"/all_reduce": "ring", "/cluster/nodes": 8}, ...})");
    }
    SweptValue value = {item.key(), {}};
    for (const auto& setting : field.json().items()) {
      check_pointer(member(field, setting.key()), setting.key());
      value.settings.emplace_back(setting.key(), setting.value());
    }
    values.push_back(std::move(value));
  }
  if (values.empty()) entry.fail("at least one case");
  return values;
}

/// Two keys of a sweep that set the same pointer would depend on their order.
void refuse_repeated_pointers(const Field& field, const Sweep& sweep) {
  std::map<std::string, std::string> keys;  // by pointer
  for (const SweptKey& swept : sweep) {
    std::set<std::string> own;
    for (const SweptValue& value : swept.values) {
      for (const auto& [pointer, ignored] : value.settings) own.insert(pointer);
    }
    for (const std::string& pointer : own) {
      const auto [found, is_new] = keys.try_emplace(pointer, swept.key);
      if (!is_new) {
        member(field, swept.key).fail_because(fmt::format("it sets {}, which {} sets, too; keep one of them", pointer, found->second));
      }
    }
  }
}

/// The sweep's keys and values, in file order.
Sweep read_sweep(const Document& document) {
  Sweep sweep;
  if (!document.root().is_object() || !document.root().contains("sweep")) return sweep;
  const Field field(document, "/sweep", document.root()["sweep"]);
  if (!field.is_object()) field.fail(R"(an object that maps JSON pointers to lists, such as {"/cluster/nodes": [4, 8]})");
  std::size_t points = 1;
  for (const auto& item : field.json().items()) {
    const Field entry = member(field, item.key());
    check_pointer(entry, item.key());
    sweep.push_back({item.key(), entry.is_object() ? read_cases(entry) : read_values(item.key(), entry)});
    points *= sweep.back().values.size();
    if (points > most_points) entry.fail_because(fmt::format("the sweep has more than {} points; sweep fewer values", most_points));
  }
  refuse_repeated_pointers(field, sweep);
  return sweep;
}

JsonPointer parse_pointer(const std::string& text, const Document& document) {
  try {
    return JsonPointer(text);
  } catch (const Json::exception&) {
    const Field field(document, "/sweep" + (JsonPointer() / text).to_string(), document.root());
    field.fail_because(fmt::format("\"{}\" is not a JSON pointer: after ~ comes 0 or 1", text));
  }
}

/// Replaces a path at `pointer` by the content of the file, so that values can be set in it.
void load_file_at(const std::string& pointer, Document& document, Library& library) {
  const JsonPointer place(pointer);
  if (!document.root().is_object() || !document.root().contains(place)) return;
  const Field field(document, pointer, document.root().at(place));
  if (!field.is_text()) return;
  const Document& file = library.document(field, pointer.ends_with("/trace") ? FileKind::trace : FileKind::cluster);
  document.mount(place, file);
}

/// The places above a pointer that may name a file: the trace, the cluster, and a job's own trace.
std::vector<std::string> files_above(const std::string& pointer) {
  std::vector<std::string> places = {"/trace", "/cluster"};
  constexpr std::string_view jobs = "/jobs/";
  if (pointer.starts_with(jobs)) places.push_back(pointer.substr(0, pointer.find('/', jobs.size())) + "/trace");
  return places;
}

void load_files_above(const std::string& pointer, Document& document, Library& library) {
  for (const std::string& file : files_above(pointer)) {
    if (pointer != file && is_at_or_above(file, pointer)) load_file_at(file, document, library);
  }
}

/// What a fit without "measured_at" was measured at: the cluster's link, as long as nothing has changed it.
void keep_measured_at(Document& document, const std::string& origin) {
  const Json& root = document.root();
  const JsonPointer at_link("/cluster/link");
  const JsonPointer at_fit("/cluster/fit");
  if (!root.is_object() || !root.contains(at_link) || !root.contains(at_fit) || !root.at(at_link).is_object()) return;
  if (root.at("cluster").value("nodes", Json(2)) == 1) return;  // no link was in use
  Json measured_at = Json::object();
  for (const char* key : {"bandwidth", "latency", "efficiency"}) {
    if (root.at(at_link).contains(key)) measured_at[key] = root.at(at_link)[key];
  }
  if (root.at(at_link).contains("kind") && !measured_at.value("efficiency", Json()).is_number()) {
    Object link(Field(document, at_link.to_string(), root.at(at_link)));
    const LinkKind kind = read_link_kind(link.at("kind"), link.at("bandwidth").bandwidth());
    const auto share = link.find("efficiency");
    measured_at["efficiency"] = share ? read_efficiency(*share, &kind) : kind.median;
  }
  measured_at["nics"] = root.at("cluster").value("nics", Json(1));
  const auto keep = [&](const JsonPointer& fit) {
    const Json& value = document.root().at(fit);
    if (value.is_object() && !value.contains("measured_at")) document.set(fit / "measured_at", measured_at, origin);
  };
  if (!root.at(at_fit).is_array()) return keep(at_fit);
  for (std::size_t i = 0; i < document.root().at(at_fit).size(); ++i) keep(at_fit / i);
}

/// Sets values by pointer, outer places before inner ones. Loads files that are named above a pointer.
void set_values(Document& document, std::vector<std::pair<std::string, Json>> values, Library& library, const std::string& origin) {
  std::stable_sort(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.first.size() < b.first.size(); });
  for (const auto& [pointer, value] : values) {
    load_files_above(pointer, document, library);
    if (is_at_or_above("/cluster/link", pointer) || pointer == "/cluster/nics") keep_measured_at(document, origin);
    document.set(parse_pointer(pointer, document), value, origin);
  }
}

std::string describe(int index, const std::vector<std::pair<std::string, Json>>& values) {
  if (values.empty()) return {};
  std::string text = fmt::format(" (in point {}:", index);
  for (const auto& [pointer, value] : values) text += fmt::format(" {}={}", pointer, excerpt(value));
  return text + ")";
}

/// The named cases that the values mean: by the case's name, or that of an object. Null if one of them is no case.
Json cases_of(const Json& values, const Json& cases) {
  Json chosen = Json::object();
  for (const Json& value : values) {
    const Json name = value.is_object() && value.contains("name") ? value["name"] : value;
    if (!name.is_string() || !cases.contains(name.get<std::string>())) return nullptr;
    chosen[name.get<std::string>()] = cases[name.get<std::string>()];
  }
  return chosen;
}

/// The swept values with one left.
Json pinned(const Setting& setting, const Json& values) {
  if (!values.is_object()) return Json::array({setting.value});
  if (setting.value.is_string() && values.contains(setting.value)) return {{setting.value, values[setting.value.get<std::string>()]}};
  std::vector<std::string> names;
  for (const auto& item : values.items()) names.push_back(Json(item.key()).dump());
  throw UsageError(fmt::format("{} {}={}: the scenario sweeps named cases there; use one of {}", setting.option, setting.pointer,
                               excerpt(setting.value), fmt::join(names, ", ")));
}

/// Whether a swept key, or one of its named cases, sets something at or above the pointer.
bool overwrites(const std::string& key, const Json& values, const std::string& pointer) {
  if (!values.is_object()) return is_at_or_above(key, pointer);
  return std::any_of(values.begin(), values.end(), [&](const Json& settings) {
    if (!settings.is_object()) return false;
    const auto items = settings.items();
    return std::any_of(items.begin(), items.end(), [&](const auto& item) { return is_at_or_above(item.key(), pointer); });
  });
}

/// The sweep without what is inside a key. Throws UsageError where a named case sets something inside.
Json without_inside(const Setting& setting, const Json& sweep) {
  Json left = Json::object();
  for (const auto& [key, values] : sweep.items()) {
    if (key == setting.pointer || !is_at_or_above(setting.pointer, key)) left[key] = values;
    if (!values.is_object() || key == setting.pointer) continue;
    for (const Json& settings : values) {
      if (!settings.is_object()) continue;
      for (const auto& item : settings.items()) {
        if (!is_at_or_above(setting.pointer, item.key())) continue;
        throw UsageError(fmt::format("{}: the cases of {} set {}, which would overwrite it; choose one with --set {}='\"NAME\"'",
                                     setting.option, key, item.key(), key));
      }
    }
  }
  return left;
}

/// Sets the only value of a list, or sweeps its values.
void apply_list(const Setting& setting, Document& document, Library& library) {
  const std::string origin = from_option(setting.option);
  const bool has_sweep = document.root().is_object() && document.root().value("sweep", Json()).is_object();
  const Json before = has_sweep ? document.root()["sweep"] : Json::object();
  Json sweep = before;
  if (setting.pointer == "/schedule") sweep = without_inside(setting, sweep);
  bool is_inside = false;  // of what is swept
  for (const auto& [key, values] : sweep.items()) {
    if (key == setting.pointer || !overwrites(key, values, setting.pointer)) continue;
    if (values.is_object())
      throw UsageError(
          fmt::format("{}: the cases of {} set {}, or what it is in; set {} instead", setting.option, key, setting.pointer, key));
    is_inside = true;
  }
  const bool was_swept = sweep.contains(setting.pointer);
  if (was_swept || is_inside || setting.value.size() > 1) {
    const Json cases = was_swept && sweep[setting.pointer].is_object() ? cases_of(setting.value, sweep[setting.pointer]) : Json();
    sweep[setting.pointer] = cases.is_null() ? setting.value : cases;
  } else {
    set_values(document, {{setting.pointer, setting.value.front()}}, library, origin);
  }
  if (sweep != before) document.set(JsonPointer("/sweep"), sweep, origin);
}

void apply(const Setting& setting, Document& document, Library& library) {
  if (setting.is_list) return apply_list(setting, document, library);
  const std::string origin = from_option(setting.option);
  const auto sweep = document.root().is_object() ? document.root().value("sweep", Json::object()) : Json::object();
  if (sweep.is_object()) {
    if (sweep.contains(setting.pointer)) {
      document.set(JsonPointer("/sweep") / setting.pointer, pinned(setting, sweep[setting.pointer]), origin);
      return;
    }
    for (const auto& [key, values] : sweep.items()) {
      if (!overwrites(key, values, setting.pointer)) continue;
      throw UsageError(fmt::format("{} {}: the scenario sweeps {}, which would overwrite it; set {} instead", setting.option,
                                   setting.pointer, key, key));
    }
  }
  if (setting.value.is_null()) {
    load_files_above(setting.pointer, document, library);
    if (!document.root().contains(parse_pointer(setting.pointer, document)))
      throw UsageError(fmt::format("{} {}=null: there is no such key to remove", setting.option, setting.pointer));
  }
  set_values(document, {{setting.pointer, setting.value}}, library, origin);
}

/// Digests of all traces that a scenario names or contains.
std::string traces_digest(const Document& document, Library& library) {
  const Json& root = document.root();
  std::string digests;
  const auto add = [&](const std::string& pointer) {
    const JsonPointer place(pointer);
    if (root.contains(place)) digests += library.trace_digest(Field(document, pointer, root.at(place)));
  };
  const auto add_all = [&](const std::string& prefix) {
    add(prefix + "/trace");
    const JsonPointer list(prefix + "/workers/traces");
    for (std::size_t entry = 0; root.contains(list) && entry < root.at(list).size(); ++entry)
      add(fmt::format("{}/workers/traces/{}/trace", prefix, entry));
  };
  add_all("");
  if (!root.contains("jobs")) return digests;
  for (std::size_t job = 0; job < root["jobs"].size(); ++job) add_all(fmt::format("/jobs/{}", job));
  return digests;
}

}  // namespace

Scenario read_scenario(const Document& base, std::vector<std::pair<std::string, Json>> values, const std::string& origin, Library& library,
                       std::string* digest) {
  Document document = base;
  set_values(document, std::move(values), library, origin);
  load_file_at("/cluster", document, library);
  library.hold_platform(document);
  Scenario scenario = read_scenario(document, library);
  if (digest != nullptr) {
    const std::string traces = traces_digest(document, library);
    document.erase("trace");
    *digest = sha256(traces + document.root().dump());
  }
  return scenario;
}

Setting parse_setting(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || !text.starts_with('/')) {
    throw UsageError(fmt::format("--set {}: expected POINTER=JSON, such as /cluster/nodes=64 or /schedule/name='\"wfbp\"'", text));
  }
  Setting setting = {text.substr(0, equals), {}};
  try {
    (void)JsonPointer(setting.pointer);
  } catch (const Json::exception&) {
    throw UsageError(fmt::format("--set {}: \"{}\" is not a JSON pointer: after ~ comes 0 or 1", text, setting.pointer));
  }
  try {
    setting.value = parse_json(text.substr(equals + 1), "value");
  } catch (const InputError& error) {
    throw UsageError(fmt::format("--set {}: {}; a string needs double quotes: {}='\"{}\"'", text, error.what(), setting.pointer,
                                 text.substr(equals + 1)));
  }
  return setting;
}

namespace {

/// Documents that points of a study share. A trace that is written in the document is read once for all points that set the same values in
/// it, instead of being copied into every point.
class Bases {
 public:
  Bases(Document document, Library& library) : document_(std::move(document)), library_(library) {}

  /// The document for a point. Moves the values that are set in the trace out of `values`. `origin`: see read_scenario.
  const Document& operator()(std::vector<std::pair<std::string, Json>>& values, const std::string& origin) {
    const auto outside_trace =
        std::stable_partition(values.begin(), values.end(), [](const auto& value) { return is_at_or_above("/trace", value.first); });
    std::vector<std::pair<std::string, Json>> in_trace(std::make_move_iterator(values.begin()), std::make_move_iterator(outside_trace));
    values.erase(values.begin(), outside_trace);
    std::string key;
    for (const auto& [pointer, value] : in_trace) key += fmt::format("{} {}\n", pointer, value.dump());
    const auto found = bases_.find(key);
    return found == bases_.end() ? bases_.emplace(key, make(std::move(in_trace), origin)).first->second : found->second;
  }

 private:
  Document make(std::vector<std::pair<std::string, Json>> in_trace, const std::string& origin) {
    Document base = document_;
    set_values(base, std::move(in_trace), library_, origin);
    if (!base.root().is_object() || !base.root().contains("trace") || base.root()["trace"].is_string()) return base;
    Json shared = library_.share_trace(base);
    base.set(JsonPointer("/trace"), shared, "");
    return base;
  }

  Document document_;
  Library& library_;
  std::map<std::string, Document> bases_;  ///< by the values that are set in the trace
};

/// The swept values on which a point's result depends.
std::string values_that_matter(const std::vector<std::pair<std::string, Json>>& values, const Scenario& scenario) {
  const std::vector<const Scenario*> trainings = scenario.trainings();
  const bool has_collectives = std::any_of(trainings.begin(), trainings.end(),
                                           [](const Scenario* training) { return training->schedule.traffic.has_collectives(); });
  std::string text;
  for (const auto& [pointer, value] : values) {
    if (has_collectives || !is_at_or_above("/all_reduce", pointer)) text += fmt::format("{} {}\n", pointer, value.dump());
  }
  return text;
}

/// The study of a document to which the settings have been applied.
Study expand(Document base, const std::vector<Setting>& settings, Library& library, bool with_digests) {
  const Sweep sweep = read_sweep(base);
  Study study;
  study.document = base.root();
  study.settings = settings;
  base.erase("sweep");  // it would be copied into every point
  Bases bases(std::move(base), library);
  std::map<std::string, int> first_points;
  std::size_t count = 1;
  for (const SweptKey& swept : sweep) count *= swept.values.size();
  for (std::size_t index = 0; index < count; ++index) {
    Point point;
    point.index = static_cast<int>(index);
    std::size_t stride = count;
    std::vector<std::pair<std::string, Json>> values;
    for (const SweptKey& swept : sweep) {
      stride /= swept.values.size();
      const SweptValue& value = swept.values[index / stride % swept.values.size()];
      point.sweep.emplace_back(swept.key, value.label);
      values.insert(values.end(), value.settings.begin(), value.settings.end());
    }
    const std::string origin = describe(point.index, point.sweep);
    try {
      const std::vector<std::pair<std::string, Json>> swept_values = values;
      const Document& shared = bases(values, origin);
      point.scenario = read_scenario(shared, std::move(values), origin, library, with_digests ? &point.digest : nullptr);
      point.same_as = first_points.try_emplace(values_that_matter(swept_values, point.scenario), point.index).first->second;
    } catch (const InputError& error) {
      // The first point was valid, so this point's values are wrong: name them.
      if (index == 0 || std::string_view(error.what()).ends_with(origin)) throw;
      throw InputError(error.what() + origin);
    }
    study.points.push_back(std::move(point));
  }
  study.name = study.points.front().scenario.name;
  study.seed = study.points.front().scenario.speed.seed;
  if (with_digests) study.inputs = library.files();
  return study;
}

/// A list as --set would say it, for records.
Setting as_plain(const Setting& setting) {
  if (!setting.is_list) return setting;
  if (setting.value.size() == 1) return {setting.pointer, setting.value.front(), setting.option};
  return {"/sweep" + (JsonPointer() / setting.pointer).to_string(), setting.value, setting.option};
}

}  // namespace

Study read_study(const std::string& name, const std::vector<Setting>& settings, bool with_digests) {
  const std::filesystem::path file = name == "-" ? std::filesystem::path(name) : named_file(name, {FileKind::scenario});
  Document base = name == "-" ? Document(parse_json(read_stdin(), "stdin"), "stdin") : Document::read(file);
  Library library(file.parent_path());
  // Outer keys first, the whole sweep before what single settings sweep.
  const auto depth = [](const Setting& setting) { return setting.pointer == "/sweep" ? 0 : setting.pointer.size(); };
  std::vector<Setting> outer_first = settings;
  std::stable_sort(outer_first.begin(), outer_first.end(), [&](const Setting& a, const Setting& b) { return depth(a) < depth(b); });
  for (const Setting& setting : outer_first) apply(setting, base, library);
  std::vector<Setting> plain;
  for (const Setting& setting : settings) plain.push_back(as_plain(setting));
  Study study = expand(std::move(base), plain, library, with_digests);
  study.file = file.string();
  return study;
}

Study restore_study(const Study& study) {
  Library library(study.inputs);
  Study restored = expand(Document(study.document, study.file), study.settings, library, true);
  restored.file = study.file;
  return restored;
}

}  // namespace syncopate
