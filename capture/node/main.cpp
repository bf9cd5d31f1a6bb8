#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <ctime>
#include <optional>

#include "base/files.hpp"
#include "base/progress.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "capture/node/report.hpp"
#include "capture/program.hpp"
#include "model/gradient_order.hpp"

namespace syncopate::capture {

namespace {

struct Options {
  std::string device;
  std::optional<std::int64_t> bytes;
  std::string model;
  int repetitions = 30;
  std::string out;
  bool quiet = false;
};

constexpr std::int64_t mebibyte = 1 << 20;
constexpr std::int64_t fewest_bytes = mebibyte;
constexpr std::int64_t most_bytes = 4096 * mebibyte;
constexpr int fewest_repetitions = 10;
constexpr int most_repetitions = 100'000;

std::int64_t chosen_bytes(const Options& options, const DeviceName& device) {
  const std::int64_t bytes = options.bytes.value_or((device.kind == "cuda" ? 256 : 64) * mebibyte);
  if (bytes < fewest_bytes || bytes > most_bytes) throw UsageError(fmt::format("--bytes {}: expected 1MiB to 4GiB", bytes));
  constexpr std::int64_t largest_number = 4;
  return bytes / largest_number * largest_number;
}

void add_options(CLI::App& app, Options& options) {
  app.set_version_flag("--version", version());
  app.add_option("--device", options.device, "cuda, cuda:N or cpu: an NVIDIA GPU, or one thread of the processor");
  app.add_option("--bytes", options.bytes, "bytes of the gradients, such as 100MB or 64MiB [256MiB on cuda, 64MiB on cpu]")
      ->transform(CLI::AsSizeValue(true));
  app.add_option("--model", options.model, "model/1 file whose gradients are packed [161 equal tensors]");
  app.add_option("--repetitions", options.repetitions, "number of repetitions, of which the medians are taken")
      ->capture_default_str()
      ->check(CLI::Range(fewest_repetitions, most_repetitions));
  app.add_option("-o", options.out, "node/1 file to write");
  app.add_flag("--quiet", options.quiet, "print errors and warnings only");
  app.footer(
      "Exit codes: 0 done (what could not be measured is listed in the file), 2 usage, 3 bad input, 5 cannot write, no device or nothing\n"
      "measured.\n"
      "Example: nodeprobe --device cuda -o results/node.json");
}

/// The sizes of the gradients, in the order of backward.
std::vector<std::int64_t> tensors_of(const std::string& file) {
  if (file.empty()) return {};
  const Model model = read_model(Document::read(file));
  std::vector<std::int64_t> lengths;
  for (std::size_t i = model.layers.size(); i-- > 0;) {
    for (const Tensor& tensor : gradient_order(model.layers[i])) lengths.push_back(elements(tensor.shape));
  }
  return lengths;
}

Json provenance(const Options& options, std::int64_t bytes) {
  std::vector<std::string> words = {"nodeprobe", "--device", options.device, "--bytes", std::to_string(bytes)};
  if (!options.model.empty()) words.insert(words.end(), {"--model", options.model});
  words.insert(words.end(), {"--repetitions", std::to_string(options.repetitions)});
  return {{"kind", "measured"},
          {"source", "nodeprobe"},
          {"utc", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
          {"command", command_line(words)}};
}

void probe(const Options& options) {
  const DeviceName name = parse_device(options.device);
  check_output(options.out, {options.model});
  NodeOptions measuring;
  measuring.bytes = chosen_bytes(options, name);
  measuring.tensors = tensors_of(options.model);
  measuring.repetitions = options.repetitions;
  const std::unique_ptr<NodeDevice> device = open_node_device(name);
  require_writable(options.out);

  NodeMeasurements found;
  {
    ProgressBar progress(measurement_count(*device), "measurements", !options.quiet);
    measuring.progress = [&progress] { progress.advance(); };
    found = measure_node(*device, measuring);
  }
  DeviceDescription description = device->describe();
  description.software["syncopate"] = version();
  write_output(options.out, write_node(provenance(options, measuring.bytes), description, measuring, found));
  if (!options.quiet) display(stream_beside(options.out), "{}", format_node(description, found));
  for (const Failure& failure : found.failed) complain("nodeprobe: warning: {}: {}", failure.name, failure.reason);
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Measures a node for the simulator: copying, adding and compressing gradients, and compute that overlaps with them.",
               "nodeprobe");
  add_options(app, options);
  return run_program(app, argc, argv, [&options] { probe(options); });
}

}  // namespace

}  // namespace syncopate::capture

int main(int argc, char** argv) { return syncopate::capture::run(argc, argv); }
