#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

#include "store/run_folder.hpp"

namespace syncopate {

/// Options that say how a run uses existing results, and which share of the points it simulates.
struct SharingOptions {
  bool resume = false;
  bool force = false;
  bool retry_failed = false;
  std::string shard;
  std::vector<std::string> reuse;
};

/// Every n-th point, from the i-th on.
struct Shard {
  int index = 0;
  int count = 1;
};

void add_sharing_options(CLI::App& command, SharingOptions& options);

/// What --shard says: "i/n". Throws UsageError.
Shard read_shard(const std::string& text);

RunFolder::Entry entry_of(const SharingOptions& options);

/// Throws UsageError for options that exclude each other, and when mpirun or srun started several processes without --shard (all would
/// simulate the same points). `folder`: the value of -o; "-" is stdout, empty means no option.
void check_sharing(const SharingOptions& options, const std::string& folder);

}  // namespace syncopate
