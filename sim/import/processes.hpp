#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "import/kineto.hpp"

namespace syncopate {

/// One process of a profile that ran backward passes.
struct TrainingProcess {
  std::uint32_t process = 0;  ///< number of its text in the profile's strings
  std::string pid;
  std::string label;                 ///< what the file calls it, or empty
  std::optional<std::int64_t> rank;  ///< of its label ("rank 3"), or of the file's distributedInfo if the file has one process
};

/// The processes of a profile that trained, in the order of the file.
std::vector<TrainingProcess> training_processes(const KinetoTrace& profile);

/// Which process of a file is asked for. At most one is given.
struct ProcessChoice {
  std::optional<std::int64_t> rank;
  std::optional<std::string> pid;
};

/// Removes the events of all processes but one. Throws InputError, which lists the processes, if the choice names none, or if there are
/// several and there is no choice.
void keep_process(KinetoTrace& profile, const ProcessChoice& choice);

}  // namespace syncopate
