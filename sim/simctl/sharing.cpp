#include "simctl/sharing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/errors.hpp"

namespace syncopate {

namespace {

/// mpirun or srun has started this process and others like it.
bool is_one_of_several() {
  struct Launcher {
    const char* rank;
    const char* size;
  };
  constexpr std::array launchers = {Launcher{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, Launcher{"PMI_RANK", "PMI_SIZE"},
                                    Launcher{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
  return std::any_of(launchers.begin(), launchers.end(), [](const Launcher& launcher) {
    const char* const all = std::getenv(launcher.size);
    return std::getenv(launcher.rank) != nullptr && all != nullptr && std::strtol(all, nullptr, 10) > 1;
  });
}

}  // namespace

void add_sharing_options(CLI::App& command, SharingOptions& options) {
  CLI::Option* output = command.get_option("--output");
  CLI::Option* force = command.add_flag("--force", options.force, "start again, whatever study DIR holds")->needs(output);
  command.add_flag("--resume", options.resume, "simulate only the points that have no result in DIR yet")->needs(output)->excludes(force);
  command.add_flag("--retry-failed", options.retry_failed, "and those that have failed")->needs(output)->excludes(force);
  CLI::Option* shard =
      command.add_option("--shard", options.shard, "i/n: only the points i, i + n, i + 2n ..., i from 0; simctl merge puts them together");
  shard->needs(output)->excludes(force);
  command.add_option("--reuse", options.reuse, "a folder of other results, of which points that are the same are taken; may be repeated")
      ->needs(output)
      ->allow_extra_args(false);
}

Shard read_shard(const std::string& text) {
  if (text.empty()) return {};
  Shard shard;
  const char* const end = text.data() + text.size();
  const auto index = std::from_chars(text.data(), end, shard.index);
  const bool has_slash = index.ec == std::errc() && index.ptr != end && *index.ptr == '/';
  const auto count = has_slash ? std::from_chars(index.ptr + 1, end, shard.count) : index;
  if (!has_slash || count.ec != std::errc() || count.ptr != end || shard.index < 0 || shard.index >= shard.count)
    throw UsageError(fmt::format("--shard {}: expected i/n with 0 <= i < n, such as 0/4", text));
  return shard;
}

RunFolder::Entry entry_of(const SharingOptions& options) {
  if (options.force) return RunFolder::Entry::overwrite;
  const bool joins = options.resume || options.retry_failed || !options.shard.empty();
  return joins ? RunFolder::Entry::go_on : RunFolder::Entry::begin;
}

void check_sharing(const SharingOptions& options, const std::string& folder) {
  const bool shares = options.resume || options.force || options.retry_failed || !options.shard.empty() || !options.reuse.empty();
  if (folder == "-" && shares)
    throw UsageError(
        "-o -: stdout keeps no points to continue from or to share; name a folder, or leave out --resume, --force, --retry-failed, --shard "
        "and --reuse");
  for (const std::string& other : options.reuse) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(std::filesystem::path(other) / "points", ignored))
      throw UsageError(fmt::format("--reuse {}: no points/ in there; name a folder that simctl run -o has written", other));
  }
  if (is_one_of_several() && options.shard.empty())
    throw UsageError(
        "mpirun or srun has started several of these processes, and each would simulate every point; give each its own share with "
        "--shard i/n, or start one process");
}

}  // namespace syncopate
