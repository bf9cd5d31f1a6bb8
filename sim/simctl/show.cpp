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

void show_trace(const Document& document) {
  const Trace trace = read_trace(document);
  const StepProfile profile = step_profile(trace, Granularity::tensor);
  display("trace {}: {}{}, batch {}{}{}\n", trace.file, trace.model, trace.input.empty() ? "" : ", input " + format_shape(trace.input),
          trace.batch, trace.dtype.empty() ? "" : ", " + trace.dtype, trace.device.empty() ? "" : ", " + trace.device);
  display("provenance: {}{}{}\n", trace.provenance.synthetic() ? "SYNTHETIC" : trace.provenance.kind,
          trace.provenance.source.empty() ? "" : ", " + trace.provenance.source,
          trace.provenance.note.empty() ? "" : "; " + trace.provenance.note);
  std::vector<std::size_t> gradients(trace.layers.size());
  std::vector<std::vector<std::string>> shapes(trace.layers.size());
  std::vector<Bytes> bytes(trace.layers.size());
  for (const Gradient& gradient : trace.gradients) {
    ++gradients[gradient.layer];
    if (!gradient.shape.empty()) shapes[gradient.layer].push_back(format_shape(gradient.shape));
    bytes[gradient.layer] += gradient.bytes;
  }
  std::vector<Cells> table = {{"layer", "type", "forward", "backward", "gradients", "shapes", "bytes"}};
  for (std::size_t i = 0; i < trace.layers.size(); ++i) {
    const Layer& layer = trace.layers[i];
    table.push_back({layer.name, layer.type, layer.forward, layer.backward, fmt::format("{}", gradients[i]),
                     fmt::format("{}", fmt::join(shapes[i], " ")), bytes[i]});
  }
  display("\n{}\n", format_table(table));
  display("{} layers, {} gradients, {}\n", trace.layers.size(), trace.gradients.size(), format_bytes(profile.bytes()));
  display("iteration: forward {}, backward {}, update {}; {} in all, {:.4g} samples/s on one worker\n", format_seconds(profile.forward),
          format_seconds(profile.backward), format_seconds(profile.update), format_seconds(profile.compute()),
          static_cast<double>(trace.batch) / profile.compute().value);
}

void show_model(const Document& document, const Shape& input) {
  const Model model = read_model(document, input);
  display("model {}: {}\n", model.file, model.name);
  if (!model.source.empty()) display("source: {}\n", model.source);
  display("input: {}\n\n", format_shape(model.input));
  std::vector<Cells> table = {{"layer", "op", "inputs", "output", "tensors", "parameters", "bytes (fp32)", "MACs"}};
  for (const ModelLayer& layer : model.layers) {
    std::vector<std::string> inputs;
    for (const std::size_t from : layer.inputs) inputs.push_back(from == Model::input_layer ? "input" : model.layers[from].name);
    std::vector<std::string> tensors;
    for (const Tensor& tensor : layer.tensors) tensors.push_back(format_shape(tensor.shape));
    table.push_back({layer.name, std::string(layer.op->name), fmt::format("{}", fmt::join(inputs, " ")), format_shape(layer.output),
                     fmt::format("{}", fmt::join(tensors, " ")), fmt::format("{:.0f}", layer.parameters()),
                     fmt::format("{:.0f}", 4 * layer.parameters()), fmt::format("{:.0f}", layer.macs)});
  }
  display("{}\n", format_table(table));
  display("{} layers, {} tensors, {:.0f} parameters, {} in fp32; {:.4g} GMACs of forward per sample\n", model.layers.size(),
          model.tensors(), model.parameters(), format_bytes(Bytes(4 * model.parameters())), model.macs() / 1e9);
}

void show_device(const Document& document) {
  const DeviceProfile profile = read_device_profile(document);
  display("device {}: {}, {}{}\n", profile.file, profile.name, profile.dtype,
          profile.gpus == 1 ? "" : fmt::format(", {} GPUs share a worker's batch", profile.gpus));
  display("source: {}\nerror: {}\n\n", profile.source, profile.describe_errors());
  display("{}", format_costs(profile));
}

}  // namespace

void add_show_command(CLI::App& app, const ClusterView* clusters) {
  const auto file = std::make_shared<std::string>();
  const auto dot = std::make_shared<bool>(false);
  const auto platform = std::make_shared<std::string>();
  const auto input = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("show", "Show a model, a trace, a device profile, a cluster or a schedule as a table");
  command
      ->add_option("FILE", *file, "model/1, trace/1, device/1 or cluster/1 file, or a name that \"simctl list\" shows, also a schedule's")
      ->required();
  command->add_flag("--dot", *dot,
                    "of a cluster: its network as a graph for Graphviz, for instance \"... --dot | dot -Tsvg > cluster.svg\"");
  command->add_option("--platform", *platform,
                      "of a cluster: write its network as a SimGrid platform to this file, and print the cluster that uses it");
  command->add_option("--input", *input, "of a model: shape of a sample, such as 3x224x224; default: the model's");
  command->footer("Example: simctl show cpu-resnet50-b8");
  command->callback([file, dot, platform, input, clusters] {
    if (clusters != nullptr && clusters->print_schedule(*file)) return;
    constexpr std::string_view use_import = "a torch.profiler trace becomes one of ours with \"simctl trace import\"";
    if (file->ends_with(".gz")) throw InputError(fmt::format("{}: a compressed file; {}", *file, use_import));
    const Document document = Document::read(named_file(*file, {FileKind::model, FileKind::trace, FileKind::device, FileKind::cluster}));
    Object fields{Field(document)};
    if (fields.find("traceEvents")) throw InputError(fmt::format("{}: {}", *file, use_import));
    const Field format = fields.at("format");
    const bool is_cluster = format.json() == "cluster/1";
    if (!platform->empty() && (!is_cluster || *dot))
      format.fail_because("--platform writes clusters, without --dot; leave one of them out");
    if (*dot && !is_cluster) format.fail_because("--dot draws clusters; leave it out");
    if (is_cluster && clusters == nullptr)
      format.fail_because("this simctl was built without SimGrid, which clusters need; \"make build\" builds it with");
    if (is_cluster && !platform->empty()) return clusters->write_platform(document, *platform);
    if (is_cluster) return *dot ? clusters->draw(document) : clusters->print(document);
    if (!input->empty() && format.json() != "model/1") format.fail_because("--input gives a model's samples another shape; leave it out");
    if (format.json() == "model/1") return show_model(document, input->empty() ? Shape() : parse_shape(*input, "--input"));
    if (format.json() == "trace/1") return show_trace(document);
    if (format.json() == "device/1") return show_device(document);
    if (format.json() == "scenario/1") {
      format.fail_because(clusters == nullptr
                              ? "this is a scenario, and this simctl was built without SimGrid, which it needs; see \"make build\""
                              : "this is a scenario; use \"simctl check\" or \"simctl run\"");
    }
    format.fail("\"model/1\", \"trace/1\", \"device/1\" or \"cluster/1\"");
  });
}

}  // namespace syncopate
