#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace syncopate {

struct RefusedSetting {
  std::string name;    ///< of the setting; "" if SimGrid does not say which
  std::string reason;  ///< as SimGrid gives it
};

/// Asks SimGrid, in a process of its own (platform_reader.cpp), whether it takes these settings and sends a message with them. Answers are
/// kept. Throws SimulationError if the process cannot be started.
std::optional<RefusedSetting> refused_setting(const std::vector<std::pair<std::string, std::string>>& settings);

}  // namespace syncopate
