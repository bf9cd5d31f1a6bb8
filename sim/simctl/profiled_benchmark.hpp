#pragma once

#include <filesystem>

#include "cluster/benchmark.hpp"

namespace syncopate {

/// Whether a file is one of torch.profiler, to judge by its first bytes and keys.
bool is_profile(const std::filesystem::path& path);

/// All-reduces as a profile of a distributed run shows them: of each size the shortest, as a kernel also waits for ranks that come late.
/// `gpus_per_node`: how many of the ranks share a node, which a profile does not say. Throws InputError.
Benchmark read_profiled_benchmark(const std::filesystem::path& path, const BenchmarkOptions& options);

}  // namespace syncopate
