#include <fmt/format.h>

#include <deque>
#include <memory>

#include "base/files.hpp"
#include "base/project_files.hpp"
#include "base/table.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "device/fit.hpp"
#include "simctl/checked_output.hpp"
#include "simctl/commands.hpp"
#include "simctl/device_table.hpp"

namespace syncopate {

namespace {

struct TraceFitOptions {
  std::vector<std::string> traces;
  std::string model;
  std::string profile;
  std::string name;
  std::int64_t gpus = 1;
  std::string out;
};

/// The model given by --model, else the one in models/ that the trace names.
Model model_of(const Trace& trace, const TraceFitOptions& options) {
  if (!options.model.empty()) return read_model(Document::read(named_file(options.model, {FileKind::model})), trace.input);
  const std::filesystem::path wanted = folder_of(FileKind::model) / (trace.model + ".json");
  const auto file = find_file(wanted);
  if (!file) throw InputError(fmt::format("{}: /model/name: no {}; name the model's file with --model", trace.file, wanted.string()));
  return read_model(Document::read(*file), trace.input);
}

void print_errors(DeviceProfile profile, const std::vector<FitSample>& samples) {
  profile.errors.clear();
  for (const FitSample& sample : samples) profile.errors.push_back(profile_error(profile, sample));
  display("{}: {}\n", profile.file, profile.describe_errors());
}

void print_report(const FitReport& report, const std::vector<FitSample>& samples, std::FILE* stream) {
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const SampleFit& fit = report.samples[i];
    display(stream, "{}: {} of {} layers matched with {} by {}; left out: {} of forward, {} of backward\n", samples[i].trace->file,
            fit.match.pairs.size(), samples[i].trace->layers.size(), samples[i].model->name, fit.match.rule,
            format_seconds(fit.forward_left_out), format_seconds(fit.backward_left_out));
  }
  std::vector<Cells> table = {{"layers", "fitted to", "R2 forward", "R2 backward"}};
  for (const ClassFit& fit : report.classes) {
    table.push_back({std::string(name_of(fit.cost_class)), fmt::format("{}", fit.layers), fmt::format("{:.3f}", fit.r2_forward),
                     fmt::format("{:.3f}", fit.r2_backward)});
  }
  display(stream, "\n{}\n{}\nerror: {}\n", format_table(table), format_costs(report.profile), report.profile.describe_errors());
}

}  // namespace

void add_trace_fit_command(CLI::App& app) {
  const auto options = std::make_shared<TraceFitOptions>();
  CLI::App* command = app.add_subcommand("fit", "Fit a device profile to measured traces, and tell its error");
  command->add_option("TRACE", options->traces, "trace/1 files of one device, or names that \"simctl list traces\" shows")->required();
  command->add_option("--model", options->model, "model/1 file of all the traces; default: models/NAME.json, as each trace names it");
  command->add_option("--profile", options->profile, "device/1 file: do not fit, but tell its error against the traces");
  command->add_option("--name", options->name, "name of the profile; default: the traces' device");
  command->add_option("--gpus", options->gpus, "GPUs that shared the batch of each trace evenly")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1024}));
  command->add_option("-o", options->out, "device/1 file to write");
  command->footer("Example: simctl trace fit cpu-resnet50-b8 cpu-vgg11-b8 -o results/cpu.json");
  command->callback([options] {
    if (options->profile.empty() == options->out.empty()) {
      throw UsageError("give either -o, a device/1 file to write, or --profile, one whose error you want to know");
    }
    if (!options->profile.empty() && (options->gpus != 1 || !options->name.empty())) {
      throw UsageError("--gpus and --name are of a new profile; with --profile leave them out");
    }
    for (std::string& trace : options->traces) trace = named_file(trace, {FileKind::trace});
    if (options->profile.empty()) check_output(options->out, options->traces);
    std::deque<Trace> traces;
    std::deque<Model> models;
    std::vector<FitSample> samples;
    for (const std::string& file : options->traces) {
      traces.push_back(read_trace(Document::read(file)));
      if (traces.back().provenance.synthetic()) {
        throw InputError(fmt::format("{}: /provenance/kind: a synthetic trace measured nothing that could be fitted", file));
      }
      models.push_back(model_of(traces.back(), *options));
      samples.push_back({&traces.back(), &models.back()});
      if (options->name.empty() && traces.back().device != traces.front().device) {
        throw InputError(
            fmt::format("{}: /device/name: \"{}\" is not the \"{}\" of {}; fit a profile for each device, or call them one with --name",
                        file, traces.back().device, traces.front().device, traces.front().file));
      }
    }
    if (!options->profile.empty())
      return print_errors(read_device_profile(Document::read(named_file(options->profile, {FileKind::device}))), samples);
    FitReport report = fit_profile(samples, options->gpus);
    const Trace& first = traces.front();
    report.profile.name = !options->name.empty() ? options->name : first.device.empty() ? "unnamed" : first.device;
    report.profile.kind = first.device_kind.empty() ? "gpu" : first.device_kind;
    std::vector<std::string> sources;
    sources.reserve(traces.size());
    for (const Trace& trace : traces) {
      sources.push_back(fmt::format("{} ({})", std::filesystem::path(trace.file).filename().string(), trace.provenance.source));
    }
    report.profile.source = printable(fmt::format("least squares over the layers of {}", fmt::join(sources, ", ")));
    write_checked(options->out, write_device_profile(report.profile), !options->name.empty(), "the fit",
                  [](const Document& document) { read_device_profile(document); });
    print_report(report, samples, stream_beside(options->out));
  });
}

}  // namespace syncopate
