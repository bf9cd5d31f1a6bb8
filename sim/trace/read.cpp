#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/choice.hpp"
#include "base/fields.hpp"
#include "base/text.hpp"
#include "trace/step_profile.hpp"
#include "trace/trace.hpp"

namespace syncopate {

namespace {

std::string optional_text(Object& fields, const std::string& key) {
  const auto field = fields.find(key);
  return field ? field->text() : std::string();
}

std::optional<Seconds> optional_seconds(Object& fields, const std::string& key) {
  const auto field = fields.find(key);
  return field ? std::optional(field->seconds()) : std::nullopt;
}

ImportDigests read_digests(const Field& field) {
  Object fields(field);
  ImportDigests digests;
  digests.profiles = fields.at("profiles").text();
  digests.workers = optional_text(fields, "workers");
  digests.trace = fields.at("trace").text();
  fields.finish();
  return digests;
}

Provenance read_provenance(const Field& field) {
  Object fields(field);
  Provenance provenance;
  provenance.kind = choose_name(fields.at("kind"), {"measured", "imported", "synthetic"});
  provenance.source = optional_text(fields, "source");
  provenance.utc = optional_text(fields, "utc");
  provenance.command = optional_text(fields, "command");
  provenance.note = optional_text(fields, "note");
  if (const auto import = fields.find("import")) provenance.import = read_digests(*import);
  fields.finish();
  return provenance;
}

std::optional<Quartiles> read_quartiles(Object& fields, const std::string& key) {
  const auto field = fields.find(key);
  if (!field) return std::nullopt;
  const std::vector<Field> values = field->list();
  if (values.size() != 2) field->fail("two numbers, the first and third quartile");
  const Quartiles quartiles = {values[0].seconds(), values[1].seconds()};
  if (quartiles[0] > quartiles[1]) field->fail("the first quartile before the third");
  return quartiles;
}

Layer read_layer(const Field& field) {
  Object fields(field);
  Layer layer;
  layer.name = fields.at("name").name();
  layer.type = optional_text(fields, "type");
  layer.forward = fields.at("forward_s").seconds();
  layer.forward_quartiles = read_quartiles(fields, "forward_quartiles_s");
  layer.backward = fields.at("backward_s").seconds();
  layer.backward_quartiles = read_quartiles(fields, "backward_quartiles_s");
  fields.finish();
  return layer;
}

class GradientReader {
 public:
  explicit GradientReader(const std::vector<Layer>& layers) {
    for (std::size_t i = 0; i < layers.size(); ++i) layer_index_.emplace(layers[i].name, i);
  }

  Gradient read(const Field& field) {
    Object fields(field);
    Gradient gradient;
    const Field name = fields.at("name");
    gradient.name = name.name();
    if (!names_.insert(gradient.name).second) name.fail_because(fmt::format("the gradient \"{}\" is listed twice", gradient.name));
    gradient.layer = layer_of(fields.at("layer"));
    gradient.bytes = fields.at("bytes").bytes();
    if (const auto shape = fields.find("shape")) {
      constexpr std::int64_t largest = std::int64_t{1} << 50;
      for (const Field& extent : shape->list()) gradient.shape.push_back(extent.integer(1, largest));
    }
    const auto ready = fields.find("ready_s");
    fields.finish();
    check_order(field, gradient, ready);
    if (ready) gradient.ready = ready->seconds();
    last_ready_ = gradient.ready;
    last_ = gradient;
    ++count_;
    return gradient;
  }

 private:
  std::size_t layer_of(const Field& field) const {
    const std::string name = field.text();
    const auto found = layer_index_.find(name);
    if (found != layer_index_.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [known, index] : layer_index_) names.push_back(known);
    std::sort(names.begin(), names.end());
    field.fail_because(fmt::format("no layer is named \"{}\"{}", name, did_you_mean(name, names)));
  }

  void check_order(const Field& field, const Gradient& gradient, const std::optional<Field>& ready) const {
    if (count_ == 0) return;
    if (ready.has_value() != last_ready_.has_value()) field.fail_because("ready_s must be on all gradients or on none");
    if (ready && ready->seconds() < *last_ready_) {
      ready->fail(fmt::format("at least the ready_s of the gradient before ({})", last_ready_->value));
    }
    if (!ready && gradient.layer > last_.layer) {
      field.fail_because(
          fmt::format("gradients go in the order in which backward makes them ready, but \"{}\" belongs to a later layer than "
                      "\"{}\" before it; swap them or give ready_s",
                      gradient.name, last_.name));
    }
  }

  std::unordered_map<std::string, std::size_t> layer_index_;
  std::unordered_set<std::string> names_;
  std::optional<Seconds> last_ready_;
  Gradient last_;
  std::size_t count_ = 0;
};

/// Reads the measured spans. Without ready times the layers are stretched to the span, so they must take some time.
void read_iteration(const Field& field, Trace& trace) {
  Object fields(field);
  trace.forward_span = optional_seconds(fields, "forward_s");
  const auto backward = fields.find("backward_s");
  if (backward) trace.backward_span = backward->seconds();
  fields.finish();
  const std::optional<Seconds> last_ready = trace.gradients.back().ready;
  if (backward && last_ready && *trace.backward_span < *last_ready) {
    backward->fail(fmt::format("at least the last gradient's ready_s ({})", last_ready->value));
  }
  const bool any_backward =
      std::any_of(trace.layers.begin(), trace.layers.end(), [](const Layer& layer) { return layer.backward > Seconds(0); });
  if (backward && !last_ready && !any_backward && *trace.backward_span > Seconds(0)) {
    backward->fail_because("layers whose backward_s are all 0 cannot be stretched to it; give ready_s or the layers' times");
  }
}

}  // namespace

Trace read_trace(const Document& document, const std::string& pointer) {
  const Field root(document, pointer, document.root().at(JsonPointer(pointer)));
  Object fields(root);
  Trace trace;
  trace.file = document.file();
  fields.format("trace/1", pointer.empty());
  trace.provenance = read_provenance(fields.at("provenance"));

  Object model(fields.at("model"));
  trace.model = model.at("name").name();
  trace.batch = model.at("batch").integer(1, 1'000'000'000);
  trace.dtype = optional_text(model, "dtype");
  if (const auto input = model.find("input")) {
    for (const Field& extent : input->list()) trace.input.push_back(extent.integer(1, 1'000'000'000));
  }
  model.finish();

  if (const auto field = fields.find("device")) {
    Object device(*field);
    trace.device_kind = choose_name(device.at("kind"), {"gpu", "cpu"});
    trace.device = optional_text(device, "name");
    device.finish();
  }
  // Free-form records of how the trace was made. The simulation does not use them, so any content is fine.
  const auto record = [&fields](const char* key) {
    const auto field = fields.find(key);
    return field ? Object(*field).field().json() : Json::object();
  };
  trace.software = record("software");
  trace.timing = record("timing");
  if (const auto update = optional_seconds(fields, "update_s")) trace.update = *update;

  const Field layers = fields.at("layers");
  std::unordered_set<std::string> names;
  for (const Field& field : layers.list()) {
    trace.layers.push_back(read_layer(field));
    const std::string& name = trace.layers.back().name;
    if (!names.insert(name).second) field.fail_because(fmt::format("the layer \"{}\" is listed twice", name));
  }
  GradientReader gradients(trace.layers);
  for (const Field& field : fields.at("gradients").list()) trace.gradients.push_back(gradients.read(field));
  if (const auto iteration = fields.find("iteration")) read_iteration(*iteration, trace);
  fields.finish();

  if (step_profile(trace, Granularity::tensor).compute() <= Seconds(0)) layers.fail_because("an iteration must take some time");
  return trace;
}

}  // namespace syncopate
