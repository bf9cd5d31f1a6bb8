#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "trace/trace.hpp"

namespace syncopate {

namespace {

/// Nine significant digits: nanoseconds in a layer of one second, enough to keep the order of ready times.
double rounded(Seconds time) { return std::stod(fmt::format("{:.9g}", time.value)); }

Json quartiles_json(const Quartiles& quartiles) { return {rounded(quartiles[0]), rounded(quartiles[1])}; }

Json layer_json(const Layer& layer) {
  Json json = {{"name", layer.name}};
  if (!layer.type.empty()) json["type"] = layer.type;
  json["forward_s"] = rounded(layer.forward);
  if (layer.forward_quartiles) json["forward_quartiles_s"] = quartiles_json(*layer.forward_quartiles);
  json["backward_s"] = rounded(layer.backward);
  if (layer.backward_quartiles) json["backward_quartiles_s"] = quartiles_json(*layer.backward_quartiles);
  return json;
}

Json gradient_json(const Gradient& gradient, const std::vector<Layer>& layers) {
  Json json = {{"name", gradient.name}, {"layer", layers[gradient.layer].name}, {"bytes", static_cast<std::int64_t>(gradient.bytes.value)}};
  if (!gradient.shape.empty()) json["shape"] = gradient.shape;
  if (gradient.ready) json["ready_s"] = rounded(*gradient.ready);
  return json;
}

Json digests_json(const ImportDigests& digests) {
  Json json = {{"profiles", digests.profiles}};
  if (!digests.workers.empty()) json["workers"] = digests.workers;
  json["trace"] = digests.trace;
  return json;
}

}  // namespace

Json provenance_json(const Provenance& provenance) {
  Json json = {{"kind", provenance.kind}};
  const auto add = [&json](const char* key, const std::string& text) {
    if (!text.empty()) json[key] = printable(text);
  };
  add("source", provenance.source);
  add("utc", provenance.utc);
  add("command", provenance.command);
  add("note", provenance.note);
  return json;
}

std::string write_trace(const Trace& trace) {
  Json head = {
      {"format", "trace/1"}, {"provenance", provenance_json(trace.provenance)}, {"model", {{"name", trace.model}, {"batch", trace.batch}}}};
  if (trace.provenance.import) head["provenance"]["import"] = digests_json(*trace.provenance.import);
  if (!trace.dtype.empty()) head["model"]["dtype"] = trace.dtype;
  if (!trace.input.empty()) head["model"]["input"] = trace.input;
  if (!trace.device_kind.empty()) head["device"] = {{"kind", trace.device_kind}};
  if (!trace.device.empty()) head["device"]["name"] = trace.device;
  if (!trace.software.empty()) head["software"] = trace.software;
  for (const auto& [key, value] : trace.timing.items())
    head["timing"][key] = value.is_number_float() ? Json(rounded(Seconds(value.get<double>()))) : value;
  if (trace.update > Seconds(0)) head["update_s"] = rounded(trace.update);
  if (trace.forward_span) head["iteration"]["forward_s"] = rounded(*trace.forward_span);
  if (trace.backward_span) head["iteration"]["backward_s"] = rounded(*trace.backward_span);

  // One layer or gradient per line, so that diffs of traces are readable.
  std::string text = "{\n";
  for (const auto& [key, value] : head.items()) text += fmt::format("{}: {},\n", Json(key).dump(), value.dump());
  std::vector<std::string> lines;
  for (const Layer& layer : trace.layers) lines.push_back(layer_json(layer).dump());
  text += fmt::format("\"layers\": [\n{}\n],\n", fmt::join(lines, ",\n"));
  lines.clear();
  for (const Gradient& gradient : trace.gradients) lines.push_back(gradient_json(gradient, trace.layers).dump());
  return text + fmt::format("\"gradients\": [\n{}\n]\n}}\n", fmt::join(lines, ",\n"));
}

void write_trace_file(const std::filesystem::path& out, const Trace& trace, const std::string& cause) {
  const std::string text = write_trace(trace);
  try {
    read_trace(Document(parse_json(text, "the trace"), "the trace"));
  } catch (const InputError& error) {
    throw InputError(fmt::format("{} does not give a valid trace: {}", cause, error.what()));
  }
  write_output(out, text);
}

}  // namespace syncopate
