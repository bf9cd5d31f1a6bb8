#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <ctime>
#include <optional>

#include "base/files.hpp"
#include "base/progress.hpp"
#include "base/table.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "capture/capture_trace.hpp"
#include "capture/device_name.hpp"
#include "capture/devices.hpp"
#include "capture/plan_table.hpp"
#include "capture/program.hpp"

namespace syncopate::capture {

namespace {

struct Options {
  std::string model;
  std::string input;
  std::int64_t batch = 0;
  std::string dtype = "fp32";
  std::string device;
  std::string optimizer = "sgd";
  std::string attention = "fused";
  std::string out;
  std::optional<int> warmup;
  int iterations = 30;
  int threads = 1;
  bool graphs = false;
  bool plan = false;
  bool quiet = false;
};

constexpr std::int64_t largest_batch = 1'000'000;
constexpr int fewest_iterations = 30;
constexpr int most_iterations = 100'000;

void add_options(CLI::App& app, Options& options) {
  app.set_version_flag("--version", version());
  app.add_option("--model", options.model, "model/1 file")->required();
  app.add_option("--input", options.input, "shape of a sample, such as 3x224x224; default: the model's");
  app.add_option("--batch", options.batch, "samples in an iteration")->required()->check(CLI::Range(std::int64_t{1}, largest_batch));
  std::string meaning;
  for (const DeviceRow& row : devices())
    meaning += fmt::format("{}{}: {} ({})", meaning.empty() ? "" : "; ", row.name, row.meaning, row.dtypes);
  app.add_option("--device", options.device, meaning + "; cuda:1 is the second GPU that CUDA_VISIBLE_DEVICES allows");
  app.add_option("--dtype", options.dtype, "number format; tf32 is fp32 whose products are rounded")
      ->capture_default_str()
      ->check(CLI::IsMember({"fp32", "tf32", "fp16", "bf16"}));
  app.add_option("--optimizer", options.optimizer, "optimizer whose step ends an iteration: sgd (with momentum) or adam")
      ->capture_default_str()
      ->check(CLI::IsMember({"sgd", "adam"}));
  app.add_option("--attention", options.attention,
                 "attention in 16 bits on a GPU: fused, one operation of cuDNN where it has one, or products of matrices")
      ->capture_default_str()
      ->check(CLI::IsMember({"fused", "products"}));
  app.add_option("-o", options.out, "trace/1 file to write");
  std::string warmups;
  for (const DeviceRow& row : devices()) warmups += fmt::format("{}{} on {}", warmups.empty() ? "" : ", ", row.warmup, row.name);
  app.add_option("--warmup", options.warmup, fmt::format("iterations before the measured ones [{}]", warmups))
      ->check(CLI::Range(1, most_iterations));
  app.add_option("--iterations", options.iterations, "measured iterations, of which the medians are taken")
      ->capture_default_str()
      ->check(CLI::Range(fewest_iterations, most_iterations));
  app.add_option("--threads", options.threads, "threads of the cpu device; with more than 1, times are wall-clock times")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  app.add_flag("--graphs", options.graphs, "spans and ready times are those of a CUDA graph, which has no launch gaps");
  app.add_flag("--plan", options.plan, "print layers, shapes, tensors, MACs and memory, and stop; needs no device");
  app.add_flag("--quiet", options.quiet, "print errors and warnings only");
  app.footer(
      "Exit codes: 0 done, 2 usage, 3 bad input, 5 cannot write, no device or too little memory.\n"
      "Example: capture --model models/resnet20.json --batch 8 --device cpu -o results/resnet20.json");
}

/// The row of --device. --plan without --device takes the first row.
const DeviceRow& chosen_device(const Options& options) {
  const bool any = options.device.empty() && options.plan;
  const DeviceRow& row = any ? devices().front() : find_device(parse_device(options.device).kind);
  if (row.dtypes.find(options.dtype) == std::string_view::npos)
    throw UsageError(fmt::format("--dtype {}: the {} device supports {}", options.dtype, row.name, row.dtypes));
  if (options.threads != 1 && !row.has_threads)
    throw UsageError(fmt::format("--threads: the {} device has no number of threads; leave it out", row.name));
  if (options.graphs && !row.has_graphs)
    throw UsageError(fmt::format("--graphs: the {} device has no CUDA graphs; leave it out", row.name));
  return row;
}

std::string command(const Options& options, int warmup) {
  std::vector<std::string> words = {"capture",
                                    "--model",
                                    options.model,
                                    "--batch",
                                    std::to_string(options.batch),
                                    "--dtype",
                                    options.dtype,
                                    "--device",
                                    options.device,
                                    "--warmup",
                                    std::to_string(warmup),
                                    "--iterations",
                                    std::to_string(options.iterations)};
  if (!options.input.empty()) words.insert(words.end(), {"--input", options.input});
  if (options.optimizer != "sgd") words.insert(words.end(), {"--optimizer", options.optimizer});
  if (options.attention != "fused") words.insert(words.end(), {"--attention", options.attention});
  if (options.graphs) words.emplace_back("--graphs");
  if (options.threads != 1) words.insert(words.end(), {"--threads", std::to_string(options.threads)});
  return command_line(words);
}

Recording record_with_progress(Device& device, std::size_t layers, int warmup, const Options& options) {
  const int rounds = device.asynchronous() ? 2 : 1;
  ProgressBar progress(static_cast<std::size_t>(warmup + rounds * options.iterations), "iterations", !options.quiet);
  return record(device, layers, {warmup, options.iterations, options.graphs, [&progress] { progress.advance(); }});
}

void print_summary(const Options& options, const Trace& trace, const Summary& summary, bool asynchronous) {
  std::FILE* const stream = stream_beside(options.out);
  display(stream, "{}: {}, batch {}, {}, {}\n", options.out, trace.model, trace.batch, trace.dtype, trace.device);
  display(stream, "forward {}, backward {}, update {}: {} in all, {:.4g} samples/s; {} gradients\n", format_seconds(*trace.forward_span),
          format_seconds(*trace.backward_span), format_seconds(trace.update),
          format_seconds(*trace.forward_span + *trace.backward_span + trace.update),
          static_cast<double>(trace.batch) / (*trace.forward_span + *trace.backward_span + trace.update).value, trace.gradients.size());
  display(stream, "layers add up to {} of the iteration's {}; quartiles {} and {}, {} outliers in {} iterations\n",
          format_seconds(summary.sum_of_layers), format_seconds(summary.busy.iteration.median),
          format_seconds(summary.busy.iteration.first), format_seconds(summary.busy.iteration.third), summary.busy.outliers,
          options.iterations);
  if (!asynchronous || options.graphs) return;
  const auto gaps = [](Seconds busy, Seconds span) { return 100 * std::max(0.0, 1 - busy / span); };
  display(stream, "launch gaps, where the device waits for the host, take {:.1f}% of forward and {:.1f}% of backward\n",
          gaps(summary.forward_busy, summary.forward_span), gaps(summary.backward_busy, summary.backward_span));
}

void capture(const Options& options) {
  const DeviceRow& row = chosen_device(options);
  if (!options.plan) check_output(options.out, {options.model});
  const Shape input = options.input.empty() ? Shape() : parse_shape(options.input, "--input");
  const Network network =
      plan_network(read_model(Document::read(options.model), input), options.batch, options.dtype, row.layout(options.dtype),
                   options.optimizer == "adam" ? Optimizer::adam : Optimizer::sgd, options.attention == "fused");
  if (options.plan) {
    display("{}", format_plan(network));
    return;
  }
  const std::unique_ptr<Device> device = row.make({options.threads, parse_device(options.device).index});
  device->set_up(network);
  require_writable(options.out);

  const int warmup = options.warmup.value_or(row.warmup);
  const Recording recording = record_with_progress(*device, network.model.layers.size(), warmup, options);
  Summary summary = summarize(recording);
  if (!std::isfinite(device->loss())) {
    summary.warnings.emplace_back("the loss is not finite any more, which may change the device's speed: check the model");
  }

  Trace trace = capture_trace(network, device->describe(), recording, summary);
  trace.provenance.command = command(options, warmup);
  trace.provenance.utc = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  trace.software["syncopate"] = version();
  trace.provenance.note = fmt::format("{}", fmt::join(summary.warnings, "; "));
  write_trace_file(options.out, trace, options.model);
  if (!options.quiet) print_summary(options, trace, summary, device->asynchronous());
  for (const std::string& warning : summary.warnings) complain("capture: warning: {}", warning);
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Captures a trace: trains a network on this machine's GPU or processor and measures every layer.", "capture");
  add_options(app, options);
  return run_program(app, argc, argv, [&options] { capture(options); });
}

}  // namespace

}  // namespace syncopate::capture

int main(int argc, char** argv) { return syncopate::capture::run(argc, argv); }
