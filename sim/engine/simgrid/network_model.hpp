#pragma once

#include <string>
#include <utility>
#include <vector>

namespace syncopate {

/// How SimGrid simulates a network.
struct SimGridModel {
  std::string network_model = "CM02";                       ///< CM02, LV08, SMPI or IB: of SimGrid's `network/model`
  std::vector<std::pair<std::string, std::string>> config;  ///< settings of SimGrid, such as `network/TCP-gamma`, and their values
  bool fair = false;  ///< links have no latency; the sender of a message waits for it. SimGrid then shares links max-min fairly

  std::string paje{};  ///< file that SimGrid writes what happens on links to; "": none

  /// CM02 without settings of the scenario's own: the settings with which one message takes its latency and bytes / bandwidth.
  bool is_exact() const { return network_model == "CM02" && config.empty(); }
  /// All settings for SimGrid.
  std::vector<std::pair<std::string, std::string>> settings() const;
};

}  // namespace syncopate
