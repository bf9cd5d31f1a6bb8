#pragma once

#include <filesystem>

#include "dataflow/dataflow.hpp"

namespace syncopate {

/// Whether the file is a dataflow record with this optimiser. Files are written atomically, so an existing file is complete.
bool is_record_with(const std::filesystem::path& path, Optimizer optimizer);

}  // namespace syncopate
