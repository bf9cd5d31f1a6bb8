#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/files.hpp"
#include "base/project_files.hpp"
#include "base/table.hpp"
#include "base/terminal.hpp"
#include "simctl/commands.hpp"
#include "trace/compare.hpp"

namespace syncopate {

namespace {

struct CompareOptions {
  std::string first;
  std::string second;
  std::int64_t layers = 10;
  std::string out;
};

std::string percent(const TimePair& pair) {
  return pair.first > Seconds(0) ? fmt::format("{:+.1f}%", 100 * pair.apart()) : std::string("-");
}

void print_trace(std::string_view which, const Trace& trace) {
  display("{}: {}: {}, batch {}{}{}, {}\n", which, trace.file, trace.model, trace.batch, trace.dtype.empty() ? "" : ", " + trace.dtype,
          trace.device.empty() ? "" : ", " + trace.device, trace.provenance.synthetic() ? "SYNTHETIC" : trace.provenance.kind);
}

void print_totals(const TraceComparison& comparison) {
  std::vector<Cells> table = {{"", "first", "second", "difference"}};
  const auto row = [&table](const char* what, const TimePair& pair) { table.push_back({what, pair.first, pair.second, percent(pair)}); };
  row("forward", comparison.forward);
  row("  its layers", comparison.forward_of_layers);
  row("backward", comparison.backward);
  row("  its layers", comparison.backward_of_layers);
  row("update", comparison.update);
  row("iteration", comparison.iteration);
  display("\n{}", format_table(table));
}

void print_rows(const std::vector<LayerComparison>& rows, std::size_t most, bool of_types) {
  std::vector<Cells> table = {
      {of_types ? "type" : "layer", of_types ? "layers" : "of the second", "forward", "second", "backward", "second", "difference"}};
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    const LayerComparison& row = rows[i];
    table.push_back({row.name, of_types ? fmt::format("{}", row.layers) : row.other, row.forward.first, row.forward.second,
                     row.backward.first, row.backward.second, percent({row.first(), row.second()})});
  }
  display("{}", format_table(table));
}

void warn_of_unlike(const Trace& first, const Trace& second) {
  std::vector<std::string> unlike;
  const auto add = [&unlike](const char* what, const auto& a, const auto& b) {
    if (a != b) unlike.push_back(fmt::format("{} ({} and {})", what, a, b));
  };
  add("models", first.model, second.model);
  add("batches", first.batch, second.batch);
  add("number formats", first.dtype, second.dtype);
  if (!unlike.empty()) complain("simctl: warning: the traces are of different {}", fmt::join(unlike, ", "));
}

void print_comparison(const TraceComparison& comparison, const Trace& first, const Trace& second, std::size_t most) {
  print_trace("first", first);
  print_trace("second", second);
  print_totals(comparison);
  display("\n{} of {} and {} layers matched by {}\n", comparison.match.pairs.size(), first.layers.size(), second.layers.size(),
          comparison.match.rule);
  if (comparison.layers.empty()) return;
  display("\n");
  print_rows(comparison.types, comparison.types.size(), true);
  if (most == 0) return;
  display("\nthe layers that differ most:\n");
  print_rows(comparison.layers, most, false);
  for (std::size_t i = 0; i < std::min(most, comparison.layers.size()); ++i) {
    const LayerComparison& row = comparison.layers[i];
    if (row.kernels.empty() && row.other_kernels.empty()) continue;
    display("{}: {}\n  second: {}\n", row.name, fmt::join(row.kernels, "; "), fmt::join(row.other_kernels, "; "));
  }
}

}  // namespace

void add_trace_compare_command(CLI::App& app) {
  const auto options = std::make_shared<CompareOptions>();
  CLI::App* command =
      app.add_subcommand("compare", "Compare two traces of one network: totals, types of layers, the layers that differ most");
  command->add_option("FIRST", options->first, "trace/1 file, or a name that \"simctl list traces\" shows")->required();
  command->add_option("SECOND", options->second, "another one")->required();
  command->add_option("--layers", options->layers, "how many layers to print, with their kernels")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40U));
  command->add_option("-o", options->out, "comparison/1 file to write, with all matched layers");
  command->footer("Example: simctl trace compare cpu-resnet50-b8 synthetic-v100-resnet50-b32");
  command->callback([options] {
    const auto first_file = named_file(options->first, {FileKind::trace});
    const auto second_file = named_file(options->second, {FileKind::trace});
    if (!options->out.empty()) check_output(options->out, {first_file, second_file});
    const Trace first = read_trace(Document::read(first_file));
    const Trace second = read_trace(Document::read(second_file));
    const TraceComparison comparison = compare_traces(first, second);
    if (!options->out.empty()) write_output(options->out, write_comparison(comparison, first, second));
    warn_of_unlike(first, second);
    const bool is_file_on_stdout = stream_beside(options->out) != stdout;
    if (!is_file_on_stdout) print_comparison(comparison, first, second, static_cast<std::size_t>(options->layers));
  });
}

}  // namespace syncopate
