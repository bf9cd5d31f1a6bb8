#include <fmt/format.h>

#include <memory>

#include "base/files.hpp"
#include "base/project_files.hpp"
#include "base/table.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "device/synthesize.hpp"
#include "simctl/commands.hpp"
#include "trace/step_profile.hpp"

namespace syncopate {

void add_trace_synth_command(CLI::App& app) {
  struct Options {
    std::string model;
    std::string device;
    std::string input;
    std::int64_t batch = 0;
    std::string out;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("synth", "Synthesize a trace from a model and a device profile");
  command->add_option("MODEL", options->model, "model/1 file, or a name that \"simctl list models\" shows")->required();
  command->add_option("--device", options->device, "device/1 file, or a name that \"simctl list devices\" shows")->required();
  command->add_option("--batch", options->batch, "samples per worker")
      ->required()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}));
  command->add_option("--input", options->input, "shape of a sample, such as 3x224x224; default: the model's");
  command->add_option("-o", options->out, "trace/1 file to write")->required();
  command->footer("Example: simctl trace synth resnet50 --device v100 --batch 32 -o results/resnet50.json");
  command->callback([options] {
    const auto model_file = named_file(options->model, {FileKind::model});
    const auto device_file = named_file(options->device, {FileKind::device});
    check_output(options->out, {model_file, device_file});
    const Shape input = options->input.empty() ? Shape() : parse_shape(options->input, "--input");
    const Model model = read_model(Document::read(model_file), input);
    const DeviceProfile profile = read_device_profile(Document::read(device_file));
    Trace trace = synthesize(model, profile, options->batch);
    std::vector<std::string> words = {"simctl",   "trace",         "synth",   options->model,
                                      "--device", options->device, "--batch", std::to_string(options->batch)};
    if (!options->input.empty()) words.insert(words.end(), {"--input", options->input});
    trace.provenance.command = command_line(words);
    write_trace_file(options->out, trace, fmt::format("{} on {}", options->model, options->device));
    const StepProfile step = step_profile(trace, Granularity::tensor);
    std::FILE* const stream = stream_beside(options->out);
    display(stream, "{}: SYNTHETIC, {}, batch {}, {}\n", options->out, model.name, trace.batch, profile.name);
    display(stream, "forward {}, backward {}, update {}: {:.4g} samples/s on one worker; {} gradients, {}\n", format_seconds(step.forward),
            format_seconds(step.backward), format_seconds(step.update), static_cast<double>(trace.batch) / step.compute().value,
            trace.gradients.size(), format_bytes(step.bytes()));
    display(stream, "{}\n", trace.provenance.note);
  });
}

}  // namespace syncopate
