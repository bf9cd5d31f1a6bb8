#pragma once

#include <filesystem>

#include "dataflow/dataflow.hpp"

namespace syncopate {

/// Whether there is a record with such an optimiser; a file appears whole or not at all.
bool is_record_with(const std::filesystem::path& path, Optimizer optimizer);

}  // namespace syncopate
