#include <fmt/format.h>

#include <memory>

#include "base/fields.hpp"
#include "base/project_files.hpp"
#include "base/table.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "device/device_profile.hpp"
#include "model/model.hpp"
#include "simctl/commands.hpp"
#include "simctl/device_table.hpp"
#include "trace/step_profile.hpp"
#include "trace/trace.hpp"

namespace syncopate {

namespace {

/// What the gradients of a layer are.
struct LayerGradients {
  std::size_t count = 0;
  std::vector<std::vector<std::int64_t>> shapes{};  ///< of those whose shape is known
  Bytes bytes;
};

std::vector<LayerGradients> gradients_by_layer(const Trace& trace) {
  std::vector<LayerGradients> found(trace.layers.size());
  for (const Gradient& gradient : trace.gradients) {
    LayerGradients& layer = found[gradient.layer];
    ++layer.count;
    if (!gradient.shape.empty()) layer.shapes.push_back(gradient.shape);
    layer.bytes += gradient.bytes;
  }
  return found;
}

std::vector<std::string> input_names(const Model& model, const ModelLayer& layer) {
  std::vector<std::string> names;
  for (const std::size_t from : layer.inputs) names.push_back(from == Model::input_layer ? "input" : model.layers[from].name);
  return names;
}

/// What show/1 has of every file.
Json shown_json(const char* kind, const std::string& file) { return {{"format", "show/1"}, {"kind", kind}, {"file", file}}; }

Json trace_json(const Trace& trace) {
  const StepProfile profile = step_profile(trace, Granularity::tensor);
  Json json = shown_json("trace", trace.file);
  json.update({{"model", trace.model},
               {"input", trace.input},
               {"batch", trace.batch},
               {"dtype", trace.dtype},
               {"device", trace.device},
               {"provenance", provenance_json(trace.provenance)},
               {"bytes", profile.bytes().value},
               {"forward_s", profile.forward.value},
               {"backward_s", profile.backward.value},
               {"update_s", profile.update.value},
               {"compute_s", profile.compute().value},
               {"samples_per_s", static_cast<double>(trace.batch) / profile.compute().value},
               {"gradients", trace.gradients.size()}});
  const std::vector<LayerGradients> gradients = gradients_by_layer(trace);
  Json& layers = json["layers"] = Json::array();
  for (std::size_t i = 0; i < trace.layers.size(); ++i) {
    const Layer& layer = trace.layers[i];
    layers.push_back({{"name", layer.name},
                      {"type", layer.type},
                      {"forward_s", layer.forward.value},
                      {"backward_s", layer.backward.value},
                      {"gradients", gradients[i].count},
                      {"shapes", gradients[i].shapes},
                      {"bytes", gradients[i].bytes.value}});
  }
  return json;
}

Json model_json(const Model& model) {
  Json json = shown_json("model", model.file);
  json.update({{"name", model.name},
               {"source", model.source},
               {"input", model.input},
               {"tensors", model.tensors()},
               {"parameters", model.parameters()},
               {"macs", model.macs()}});
  Json& layers = json["layers"] = Json::array();
  for (const ModelLayer& layer : model.layers) {
    Json tensors = Json::array();
    for (const Tensor& tensor : layer.tensors) tensors.push_back(tensor.shape);
    layers.push_back({{"name", layer.name},
                      {"op", layer.op->name},
                      {"inputs", input_names(model, layer)},
                      {"output", layer.output},
                      {"tensors", tensors},
                      {"parameters", layer.parameters()},
                      {"macs", layer.macs}});
  }
  return json;
}

Json device_json(const DeviceProfile& profile) {
  Json json = shown_json("device", profile.file);
  json.update({{"name", profile.name},
               {"dtype", profile.dtype},
               {"gpus", profile.gpus},
               {"source", profile.source},
               {"error", profile.describe_errors()}});
  Json& costs = json["costs"] = Json::array();
  for (const CostRow& row : cost_rows(profile)) {
    const auto rate = [](double inverse) { return inverse > 0 ? Json(1 / inverse) : Json(); };
    costs.push_back({{"layers", row.layers},
                     {"direction", row.direction},
                     {"launch_s", row.cost.launch.value},
                     {"macs_per_s", rate(row.cost.s_per_mac)},
                     {"activations_Bps", rate(row.cost.activations.value)},
                     {"weights_Bps", rate(row.cost.weights.value)}});
  }
  return json;
}

void show_trace(const Trace& trace) {
  const StepProfile profile = step_profile(trace, Granularity::tensor);
  display("trace {}: {}{}, batch {}{}{}\n", trace.file, trace.model, trace.input.empty() ? "" : ", input " + format_shape(trace.input),
          trace.batch, trace.dtype.empty() ? "" : ", " + trace.dtype, trace.device.empty() ? "" : ", " + trace.device);
  display("provenance: {}{}{}\n", trace.provenance.synthetic() ? "SYNTHETIC" : trace.provenance.kind,
          trace.provenance.source.empty() ? "" : ", " + trace.provenance.source,
          trace.provenance.note.empty() ? "" : "; " + trace.provenance.note);
  const std::vector<LayerGradients> gradients = gradients_by_layer(trace);
  std::vector<Cells> table = {{"layer", "type", "forward", "backward", "gradients", "shapes", "bytes"}};
  for (std::size_t i = 0; i < trace.layers.size(); ++i) {
    const Layer& layer = trace.layers[i];
    std::vector<std::string> shapes;
    for (const auto& shape : gradients[i].shapes) shapes.push_back(format_shape(shape));
    table.push_back({layer.name, layer.type, layer.forward, layer.backward, fmt::format("{}", gradients[i].count),
                     fmt::format("{}", fmt::join(shapes, " ")), gradients[i].bytes});
  }
  display("\n{}\n", format_table(table));
  display("{} layers, {} gradients, {}\n", trace.layers.size(), trace.gradients.size(), format_bytes(profile.bytes()));
  display("iteration: forward {}, backward {}, update {}; {} in all, {:.4g} samples/s on one worker\n", format_seconds(profile.forward),
          format_seconds(profile.backward), format_seconds(profile.update), format_seconds(profile.compute()),
          static_cast<double>(trace.batch) / profile.compute().value);
}

void show_model(const Model& model) {
  display("model {}: {}\n", model.file, model.name);
  if (!model.source.empty()) display("source: {}\n", model.source);
  display("input: {}\n\n", format_shape(model.input));
  std::vector<Cells> table = {{"layer", "op", "inputs", "output", "tensors", "parameters", "bytes (fp32)", "MACs"}};
  for (const ModelLayer& layer : model.layers) {
    std::vector<std::string> tensors;
    for (const Tensor& tensor : layer.tensors) tensors.push_back(format_shape(tensor.shape));
    table.push_back({layer.name, std::string(layer.op->name), fmt::format("{}", fmt::join(input_names(model, layer), " ")),
                     format_shape(layer.output), fmt::format("{}", fmt::join(tensors, " ")), fmt::format("{:.0f}", layer.parameters()),
                     fmt::format("{:.0f}", 4 * layer.parameters()), fmt::format("{:.0f}", layer.macs)});
  }
  display("{}\n", format_table(table));
  display("{} layers, {} tensors, {:.0f} parameters, {} in fp32; {:.4g} GMACs of forward per sample\n", model.layers.size(),
          model.tensors(), model.parameters(), format_bytes(Bytes(4 * model.parameters())), model.macs() / 1e9);
}

void show_device(const DeviceProfile& profile) {
  display("device {}: {}, {}{}\n", profile.file, profile.name, profile.dtype,
          profile.gpus == 1 ? "" : fmt::format(", {} GPUs share a worker's batch", profile.gpus));
  display("source: {}\nerror: {}\n\n", profile.source, profile.describe_errors());
  display("{}", format_costs(profile));
}

struct ShowOptions {
  std::string file;
  bool dot = false;
  std::string platform;
  std::string input;
  std::string format = "text";

  bool as_json() const { return format == "json"; }
};

void show_cluster(const ShowOptions& options, const Document& document, const ClusterView& clusters) {
  if (!options.platform.empty()) return clusters.write_platform(document, options.platform);
  if (options.dot) return clusters.draw(document);
  if (options.as_json()) return print_data(pretty(clusters.json(document)));
  clusters.print(document);
}

void show_file(const ShowOptions& options, const ClusterView* clusters) {
  constexpr std::string_view use_import = "a torch.profiler trace becomes one of ours with \"simctl trace import\"";
  const std::string& file = options.file;
  if (file.ends_with(".gz")) throw InputError(fmt::format("{}: a compressed file; {}", file, use_import));
  const Document document = Document::read(named_file(file, {FileKind::model, FileKind::trace, FileKind::device, FileKind::cluster}));
  Object fields{Field(document)};
  if (fields.find("traceEvents")) throw InputError(fmt::format("{}: {}", file, use_import));
  const Field format = fields.at("format");
  const bool is_cluster = format.json() == "cluster/1";
  if (!options.platform.empty() && (!is_cluster || options.dot))
    format.fail_because("--platform writes clusters, without --dot; leave one of them out");
  if (options.dot && !is_cluster) format.fail_because("--dot draws clusters; leave it out");
  if (is_cluster && clusters == nullptr)
    format.fail_because("this simctl was built without SimGrid, which clusters need; \"make build\" builds it with");
  if (is_cluster) return show_cluster(options, document, *clusters);
  if (!options.input.empty() && format.json() != "model/1")
    format.fail_because("--input gives a model's samples another shape; leave it out");
  if (format.json() == "model/1") {
    const Model model = read_model(document, options.input.empty() ? Shape() : parse_shape(options.input, "--input"));
    return options.as_json() ? print_data(pretty(model_json(model))) : show_model(model);
  }
  if (format.json() == "trace/1") {
    const Trace trace = read_trace(document);
    return options.as_json() ? print_data(pretty(trace_json(trace))) : show_trace(trace);
  }
  if (format.json() == "device/1") {
    const DeviceProfile profile = read_device_profile(document);
    return options.as_json() ? print_data(pretty(device_json(profile))) : show_device(profile);
  }
  if (format.json() == "scenario/1") {
    format.fail_because(clusters == nullptr
                            ? "this is a scenario, and this simctl was built without SimGrid, which it needs; see \"make build\""
                            : "this is a scenario; use \"simctl check\" or \"simctl run\"");
  }
  format.fail("\"model/1\", \"trace/1\", \"device/1\" or \"cluster/1\"");
}

}  // namespace

void add_show_command(CLI::App& app, const ClusterView* clusters) {
  const auto options = std::make_shared<ShowOptions>();
  CLI::App* command = app.add_subcommand("show", "Show a model, a trace, a device profile, a cluster or a schedule as a table");
  command
      ->add_option("FILE", options->file,
                   "model/1, trace/1, device/1 or cluster/1 file, or a name that \"simctl list\" shows, also a schedule's")
      ->required();
  CLI::Option* dot = command->add_flag(
      "--dot", options->dot, "of a cluster: its network as a graph for Graphviz, for instance \"... --dot | dot -Tsvg > cluster.svg\"");
  CLI::Option* platform =
      command->add_option("--platform", options->platform,
                          "of a cluster: write its network as a SimGrid platform to this file, and print the cluster that uses it");
  command->add_option("--input", options->input, "of a model: shape of a sample, such as 3x224x224; default: the model's");
  add_json_option(*command, options->format)->excludes(dot)->excludes(platform);
  command->footer("Example: simctl show cpu-resnet50-b8");
  command->callback([options, clusters] {
    if (clusters != nullptr) {
      const ScheduleRow* schedule = clusters->find_schedule(options->file);
      if (schedule != nullptr)
        return options->as_json() ? print_data(pretty(clusters->schedule_json(*schedule))) : clusters->print_schedule(*schedule);
    }
    show_file(*options, clusters);
  });
}

}  // namespace syncopate
