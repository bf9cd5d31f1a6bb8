#pragma once

#include <string>

#include "cluster/benchmark.hpp"

namespace syncopate {

/// Whether an open file was written by torch.profiler, judged by its first bytes and keys. Leaves its position where it is.
bool is_profile(int file);

/// The all-reduces in a profile of a distributed run: of each size the shortest, because a kernel's time includes waiting for late ranks.
/// `options.gpus_per_node`: ranks per node, which a profile does not contain. Closes the file; `name` is for messages.
/// Throws InputError.
Benchmark read_profiled_benchmark(int file, const std::string& name, const BenchmarkOptions& options);

}  // namespace syncopate
