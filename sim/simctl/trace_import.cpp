#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "base/digest.hpp"
#include "base/files.hpp"
#include "base/table.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "import/import.hpp"
#include "import/parameter_sizes.hpp"
#include "import/processes.hpp"
#include "import/ranks.hpp"
#include "simctl/checked_output.hpp"
#include "simctl/commands.hpp"
#include "simctl/rank_table.hpp"
#include "trace/step_profile.hpp"

namespace syncopate {

namespace {

struct ImportOptions {
  std::vector<std::string> profiles;
  std::string model;
  std::int64_t batch = 0;
  std::string sizes;
  bool device_time = false;
  std::string pid;
  std::int64_t rank = -1;
  std::string workers;
  std::string each;
  std::string out;
  bool force = false;
};

/// "resnet50" of "runs/resnet50.pt.trace.json.gz".
std::string name_from(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  return name.substr(0, name.find('.', 1));
}

/// What layers waited for communication, the longest waits first.
void print_waits(std::FILE* stream, const Imported& imported) {
  std::vector<std::size_t> longest;
  Seconds all;
  for (std::size_t i = 0; i < imported.waits.size(); ++i) {
    if (imported.waits[i] > Seconds(0)) longest.push_back(i);
    all += imported.waits[i];
  }
  if (longest.empty()) return;
  std::stable_sort(longest.begin(), longest.end(), [&](std::size_t a, std::size_t b) { return imported.waits[a] > imported.waits[b]; });
  std::vector<std::string> shown;
  constexpr std::size_t most = 5;
  for (const std::size_t layer : longest) {
    if (shown.size() < most)
      shown.push_back(fmt::format("{} {}", imported.trace.layers[layer].name, format_seconds(imported.waits[layer])));
  }
  const std::size_t others = longest.size() - shown.size();
  display(stream, "left out: {} in which layers waited for communication ({}{})\n", format_seconds(all), fmt::join(shown, ", "),
          others == 0 ? "" : fmt::format(", and {} more", others));
}

/// What a step holds beside the times of the trace, and what these leave out.
void print_rest(std::FILE* stream, const Imported& imported, const StepProfile& step) {
  if (imported.period) {
    Seconds rest = *imported.period - step.compute() - imported.exposed;
    constexpr Seconds resolution(1e-9);
    if (rest < resolution) rest = Seconds(0);
    display(stream, "a step took {}: {} as above, {} communication that nothing hides, {} loading data, zeroing gradients and the host\n",
            format_seconds(*imported.period), format_seconds(step.compute()), format_seconds(imported.exposed), format_seconds(rest));
  }
  if (imported.device > Seconds(0)) {
    constexpr double percent = 100;
    display(stream, "forward, backward and update took {} by the clock, of which the GPU computed {} ({:.0f}%){}\n",
            format_seconds(imported.wall), format_seconds(imported.device), percent * (imported.device / imported.wall),
            imported.clocking == Clocking::device ? "" : "; --device-time takes only that");
  }
  print_waits(stream, imported);
  if (imported.recomputation > Seconds(0)) {
    display(stream, "activation checkpointing: {} of backward ran forward again\n", format_seconds(imported.recomputation));
  }
  if (imported.without_gradient > 0) {
    display(stream, "left out: {} parameter{} without a gradient\n", imported.without_gradient, imported.without_gradient == 1 ? "" : "s");
  }
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
  print_rest(stream, imported, step);
  if (imported.batch_seen && *imported.batch_seen != trace.batch) {
    complain("simctl: warning: the batch is set to {}, but the first operator's input shows {}", trace.batch, *imported.batch_seen);
  }
  if (!imported.mixed_modules.empty()) {
    complain("simctl: warning: --sizes gives {} parameters of two modules: the modules do not run in the order of that list",
             imported.mixed_modules);
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

std::vector<std::string> words_of(const ImportOptions& options) {
  std::vector<std::string> words = {"simctl", "trace", "import"};
  words.insert(words.end(), options.profiles.begin(), options.profiles.end());
  if (!options.model.empty()) words.insert(words.end(), {"--model", options.model});
  if (options.batch > 0) words.insert(words.end(), {"--batch", std::to_string(options.batch)});
  if (!options.sizes.empty()) words.insert(words.end(), {"--sizes", options.sizes});
  if (options.device_time) words.emplace_back("--device-time");
  if (!options.pid.empty()) words.insert(words.end(), {"--pid", options.pid});
  if (options.rank >= 0) words.insert(words.end(), {"--rank", std::to_string(options.rank)});
  if (!options.workers.empty()) words.insert(words.end(), {"--workers", options.workers});
  if (!options.each.empty()) words.insert(words.end(), {"--each", options.each});
  return words;
}

/// SHA-256 of where the profiles are: their names may be those of other files in another folder.
std::string digest_of_places(const std::vector<std::string>& profiles) {
  std::string places;
  for (const std::string& profile : profiles) {
    std::error_code ignored;
    places += std::filesystem::weakly_canonical(profile, ignored).string();
    places += '\0';
  }
  return sha256(places);
}

/// SHA-256 of the content of a trace that was imported, but for this digest.
std::string digest_of_content(Json root) {
  root["provenance"]["import"]["trace"] = "";
  return sha256(root.dump());
}

/// What an output would replace.
struct FormerFile {
  bool is_import = false;  ///< a trace that was imported from the same profiles, perhaps with other options
  bool was_edited = false;
  bool is_older = false;  ///< an import that does not tell of what, as earlier versions wrote them
  std::string workers{};  ///< digest of the file of its --workers, or empty
};

FormerFile former_file(const std::filesystem::path& file, const ImportOptions& options) {
  try {
    const Document document = Document::read(file);
    const Provenance provenance = read_trace(document).provenance;
    if (provenance.kind != "imported") return {};
    if (!provenance.import) return {.is_older = !provenance.command.empty()};
    if (provenance.import->profiles != digest_of_places(options.profiles)) return {};
    const bool was_edited = provenance.import->trace != digest_of_content(document.root());
    return {.is_import = true, .was_edited = was_edited, .workers = provenance.import->workers};
  } catch (const InputError&) {
    return {};
  }
}

/// Throws UsageError where an output would replace a file that is no earlier import of the same profiles, or one that was edited. Devices
/// and pipes are no such files.
void require_replaceable(const ImportOptions& options) {
  std::error_code ignored;
  const auto is_file = [&ignored](const std::string& name) { return name != "-" && std::filesystem::is_regular_file(name, ignored); };
  if (options.force) return;
  FormerFile former;
  if (is_file(options.out)) {
    former = former_file(options.out, options);
    if (!former.is_import || former.was_edited) {
      const std::string profiles = fmt::format("{}", fmt::join(options.profiles, " "));
      const std::string what = former.is_older     ? "an import by an older version, which does not tell whether it was edited"
                               : former.was_edited ? fmt::format("an import of {} that was edited", profiles)
                                                   : fmt::format("no import of {}", profiles);
      throw UsageError(
          fmt::format("-o {}: there is such a file, and it is {}; choose another name, or overwrite it with --force", options.out, what));
    }
  }
  if (options.workers.empty() || !is_file(options.workers)) return;
  if (former.workers.empty() || former.workers != sha256(read_file(options.workers))) require_new("--workers ", options.workers, false);
}

ImportSettings settings_of(const ImportOptions& options, const std::vector<Parameter>& sizes) {
  return {.model = options.model.empty() ? name_from(options.profiles.front()) : options.model,
          .batch = options.batch > 0 ? std::optional(options.batch) : std::nullopt,
          .clocking = options.device_time ? Clocking::device : Clocking::wall,
          .sizes = options.sizes.empty() ? nullptr : &sizes,
          .needs_sizes = true};
}

void warn_of_mended(const std::string& file, std::size_t mended) {
  if (mended == 0) return;
  complain("simctl: warning: {} is not JSON in {} place{}, read as meant: single backslashes, control characters, nan, inf, stray commas",
           file, mended, mended == 1 ? "" : "s");
}

/// `workers`: the text of the file of --workers, or empty.
void write_imported(const ImportOptions& options, Trace trace, const std::filesystem::path& out, const std::string& profile,
                    const std::string& workers = "") {
  trace.provenance.command = command_line(words_of(options));
  trace.provenance.import = {
      .profiles = digest_of_places(options.profiles), .workers = workers.empty() ? "" : sha256(workers), .trace = ""};
  trace.provenance.import->trace = digest_of_content(parse_json(write_trace(trace), out.string()));
  write_trace_file(out, trace, fmt::format("{}: the profile", profile));
}

/// Writes the trace of one process.
void import_one(const ImportOptions& options, const std::filesystem::path& file, const ImportSettings& settings) {
  ProcessChoice choice;
  if (!options.pid.empty()) choice.pid = options.pid;
  if (options.rank >= 0) choice.rank = options.rank;
  KinetoTrace profile = read_kineto(file);
  keep_process(profile, choice);
  const Imported imported = import_profile(profile, settings);
  write_imported(options, imported.trace, options.out, file.string());
  print_summary(imported, options.out);
  warn_of_mended(profile.file, profile.mended);
}

std::filesystem::path trace_of_rank(const ImportOptions& options, const RankProfile& rank) {
  return std::filesystem::path(options.each) / fmt::format("rank-{}.json", rank.rank);
}

void write_each(const ImportOptions& options, const std::vector<RankProfile>& ranks) {
  make_writable_folder(options.each);
  for (const RankProfile& rank : ranks) {
    Trace trace = rank.imported.trace;
    trace.provenance.note += fmt::format("; rank {}", rank.rank);
    write_imported(options, std::move(trace), trace_of_rank(options, rank), rank.file);
  }
}

/// The text of the file of --workers.
std::string workers_text(const ImportOptions& options, const std::vector<RankProfile>& ranks, const RankComparison& comparison) {
  Json workers = workers_of(comparison);
  if (!options.each.empty()) {
    workers.erase("slow");  // the traces say it
    workers["traces"] = Json::array();
    for (const RankProfile& rank : ranks)
      workers["traces"].push_back(
          {{"ranks", std::to_string(rank.rank)}, {"trace", std::filesystem::absolute(trace_of_rank(options, rank)).string()}});
  }
  return workers.dump(2) + "\n";
}

/// Writes the trace of the median rank, and what the other ranks tell.
void import_job(const ImportOptions& options, const std::vector<std::filesystem::path>& files, const ImportSettings& settings) {
  if (!options.pid.empty()) throw UsageError("--pid chooses a process of one file; give that file alone, or choose with --rank");
  std::vector<RankProfile> ranks = import_ranks(files, settings);
  if (options.rank >= 0) {
    std::erase_if(ranks, [&options](const RankProfile& rank) { return rank.rank != options.rank; });
    if (ranks.empty()) throw InputError(fmt::format("{}: no profile is of rank {}", options.profiles.front(), options.rank));
  }
  const RankComparison comparison = compare_ranks(ranks);
  if (!options.each.empty()) write_each(options, ranks);
  Imported& median = ranks[comparison.median].imported;
  if (ranks.size() > 1) {
    median.trace.provenance.note +=
        fmt::format("; rank {}, whose compute is the median of {} ranks", comparison.ranks[comparison.median].rank, ranks.size());
  }
  const std::string workers = options.workers.empty() ? "" : workers_text(options, ranks, comparison);
  write_imported(options, median.trace, options.out, ranks[comparison.median].file, workers);
  if (!options.workers.empty()) write_output(options.workers, workers);
  print_summary(median, options.out);
  for (const RankProfile& rank : ranks) warn_of_mended(rank.file, rank.mended);
  if (ranks.size() > 1) display(stream_beside(options.out), "\n{}", describe(comparison));
}

}  // namespace

void add_trace_import_command(CLI::App& app) {
  const auto options = std::make_shared<ImportOptions>();
  CLI::App* command = app.add_subcommand(
      "import", "Make a trace from a torch.profiler (Kineto) file of a training loop, or from those of all ranks of a job");
  command
      ->add_option(
          "PROFILE", options->profiles,
          ".json or .json.gz file of export_chrome_trace or tensorboard_trace_handler; all ranks of a job: their files, or a folder")
      ->required();
  command->add_option("--model", options->model, "name of the model; default: the file's name");
  command->add_option("--batch", options->batch, "samples per worker; default: as the first operator's input shows")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}));
  command->add_option("--sizes", options->sizes,
                      "file with the shapes of the parameters, for a profile without shapes: model/1, or lines \"name shape\"");
  command->add_flag("--device-time", options->device_time, "take only the time in which the GPU computes, without gaps between kernels");
  CLI::Option* pid = command->add_option("--pid", options->pid, "process to import, of a file with several");
  command->add_option("--rank", options->rank, "the same, by its rank")->check(CLI::NonNegativeNumber)->excludes(pid);
  command->add_option("--workers", options->workers,
                      "write what the ranks of a job tell as a scenario's \"workers\": who is slow, and the jitter");
  command->add_option("--each", options->each, "folder for a trace of each rank, which --workers then names instead of factors");
  command->add_option("-o", options->out, "trace/1 file to write; an earlier import of the same profiles is replaced, unless it was edited")
      ->required();
  command->add_flag("--force", options->force, "overwrite any other file, too");
  command->footer("Example: simctl trace import traces/profiles/generated.pt.trace.json -o results/generated.json");
  command->callback([options] {
    std::vector<std::string> inputs = options->profiles;
    if (!options->sizes.empty()) inputs.push_back(options->sizes);
    const std::vector<std::filesystem::path> files = profile_files(options->profiles);
    for (const std::filesystem::path& file : files) inputs.push_back(file.string());
    check_output(options->out, inputs);
    if (!options->workers.empty()) {
      check_output(options->workers, inputs);
      if (std::filesystem::weakly_canonical(options->workers) == std::filesystem::weakly_canonical(options->out)) {
        throw UsageError(fmt::format("--workers {}: is the file of -o, too; name another one", options->workers));
      }
    }
    require_replaceable(*options);
    std::vector<Parameter> sizes;
    if (!options->sizes.empty()) sizes = read_parameter_sizes(options->sizes);
    std::error_code ignored;
    const bool exists = !options->each.empty() && std::filesystem::exists(options->each, ignored);
    if (exists && !(std::filesystem::is_directory(options->each, ignored) && std::filesystem::is_empty(options->each, ignored)))
      throw UsageError(fmt::format("--each {}: expected a new folder, or an empty one", options->each));
    if (files.size() > 1 || !options->workers.empty() || !options->each.empty()) {
      import_job(*options, files, settings_of(*options, sizes));
    } else {
      import_one(*options, files.front(), settings_of(*options, sizes));
    }
  });
}

}  // namespace syncopate
