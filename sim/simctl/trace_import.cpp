#include <fmt/format.h>

#include <memory>

#include "base/files.hpp"
#include "base/table.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "import/import.hpp"
#include "simctl/commands.hpp"
#include "trace/step_profile.hpp"

namespace syncopate {

namespace {

struct ImportOptions {
  std::string profile;
  std::string model;
  std::int64_t batch = 0;
  std::string out;
};

/// "resnet50" of "runs/resnet50.pt.trace.json.gz".
std::string name_from(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  return name.substr(0, name.find('.', 1));
}

void print_summary(const Imported& imported, const std::string& out) {
  const Trace& trace = imported.trace;
  const StepProfile step = step_profile(trace, Granularity::tensor);
  std::FILE* const stream = stream_beside(out);
  display(stream, "{}: {}, batch {}, {}, {}\n", out, trace.model, trace.batch, trace.dtype, trace.device);
  display(stream, "{} layers, {} gradients, {}; medians over {} step{}{}\n", trace.layers.size(), trace.gradients.size(),
          format_bytes(step.bytes()), imported.steps, imported.steps == 1 ? "" : "s",
          imported.steps_left_out == 0 ? "" : fmt::format(", {} left out that differ from most or are cut off", imported.steps_left_out));
  const bool on_cpu = trace.device_kind == "cpu";
  display(stream, "forward {} ({} of its layers {}), backward {} ({}), update {}: {} in all\n", format_seconds(step.forward),
          on_cpu ? "operators" : "kernels", format_seconds(imported.forward_busy), format_seconds(step.backward),
          format_seconds(imported.backward_busy), format_seconds(step.update), format_seconds(step.compute()));
  if (imported.period) {
    display(stream, "a step took {}; the {} that are not in the trace went to loading data, zeroing gradients and the host\n",
            format_seconds(*imported.period), format_seconds(std::max(Seconds(0), *imported.period - step.compute())));
  }
  if (imported.batch_seen && *imported.batch_seen != trace.batch) {
    complain("simctl: warning: the batch is set to {}, but the first operator's input shows {}", trace.batch, *imported.batch_seen);
  }
  if (imported.steps < 3) {
    complain("simctl: warning: {} of {} step{}; record at least 5 for medians that mean something", out, imported.steps,
             imported.steps == 1 ? "" : "s");
  }
  if (trace.update == Seconds(0)) {
    complain("simctl: warning: {} \"Optimizer.step\"; update_s is 0", on_cpu ? "no" : "no kernels of an");
  }
  if (on_cpu) {
    complain(
        "simctl: warning: a profile of the CPU alone: its times hold what the profiler costs (small operators by far too much) and "
        "whatever else ran; if the model runs on a GPU, record with ProfilerActivity.CUDA");
  }
}

}  // namespace

void add_trace_import_command(CLI::App& app) {
  const auto options = std::make_shared<ImportOptions>();
  CLI::App* command = app.add_subcommand("import", "Make a trace from a torch.profiler (Kineto) file of a training loop");
  command->add_option("PROFILE", options->profile, ".json or .json.gz file of export_chrome_trace or tensorboard_trace_handler")
      ->required();
  command->add_option("--model", options->model, "name of the model; default: the file's name");
  command->add_option("--batch", options->batch, "samples per worker; default: as the first operator's input shows")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}));
  command->add_option("-o", options->out, "trace/1 file to write")->required();
  command->footer("Example: simctl trace import traces/profiles/generated.pt.trace.json -o results/generated.json");
  command->callback([options] {
    check_output(options->out, {options->profile});
    const KinetoTrace profile = read_kineto(options->profile);
    const std::string model = options->model.empty() ? name_from(options->profile) : options->model;
    Imported imported = import_profile(profile, model, options->batch > 0 ? std::optional(options->batch) : std::nullopt);
    std::vector<std::string> command_words = {"simctl", "trace", "import", options->profile};
    if (!options->model.empty()) command_words.insert(command_words.end(), {"--model", options->model});
    if (options->batch > 0) command_words.insert(command_words.end(), {"--batch", std::to_string(options->batch)});
    imported.trace.provenance.command = command_line(command_words);
    write_trace_file(options->out, imported.trace, fmt::format("{}: the profile", options->profile));
    print_summary(imported, options->out);
  });
}

}  // namespace syncopate
