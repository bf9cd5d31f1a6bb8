#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "store/run_folder.hpp"

namespace syncopate {

/// How a run goes on with what there is, and shares its points with other runs.
struct SharingOptions {
  bool resume = false;
  bool force = false;
  bool retry_failed = false;
  bool claim = false;
  std::string shard;
  std::string stale = "600";
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

/// What --stale says. Throws UsageError.
Seconds read_stale(const std::string& text);

RunFolder::Entry entry_of(const SharingOptions& options);

/// mpirun or srun has started this process beside others like it.
bool is_one_of_several();

/// Throws UsageError for options that make no sense together: `folder` is the value of -o, "-" for stdout, empty where there is none.
void check_sharing(const SharingOptions& options, const std::string& folder);

}  // namespace syncopate
