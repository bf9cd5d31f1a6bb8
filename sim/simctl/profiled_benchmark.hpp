#pragma once

#include <filesystem>

#include "cluster/benchmark.hpp"

namespace syncopate {

/// Whether a file was written by torch.profiler, judged by its first bytes and keys.
bool is_profile(const std::filesystem::path& path);

/// The all-reduces in a profile of a distributed run: of each size the shortest, because a kernel's time includes waiting for late ranks.
/// `options.gpus_per_node`: ranks per node, which a profile does not contain. Throws InputError.
Benchmark read_profiled_benchmark(const std::filesystem::path& path, const BenchmarkOptions& options);

}  // namespace syncopate
