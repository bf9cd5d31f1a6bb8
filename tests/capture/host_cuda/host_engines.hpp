#pragma once

#include <cudnn.h>

#include <cstddef>

// In the place of cuDNN's graph interface and of capture/cuda/engine_pass.cpp: runs graphs on the host as they are described, one operation
// after the other, with every tensor between two operations rounded to its format. So what a graph says is tested without a GPU, not what
// cuDNN makes of it.
namespace host_cuda {

/// Whether cuDNN has an engine for every graph, which then runs on the host; else it has none.
extern bool has_engines;
/// That of cudnnGetVersion().
extern std::size_t version;
/// What becomes of every descriptor that is finalized.
extern cudnnStatus_t finalized;
/// How many graphs have run.
extern std::size_t graphs_run;

}  // namespace host_cuda
