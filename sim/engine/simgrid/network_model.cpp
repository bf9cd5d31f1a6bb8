#include "engine/simgrid/network_model.hpp"

namespace syncopate {

std::vector<std::pair<std::string, std::string>> SimGridModel::settings() const {
  std::vector<std::pair<std::string, std::string>> all = {{"network/model", network_model}};
  if (network_model == "CM02") {
    // Shares by latency at 1e-12 end the process in SimGrid 3.32.
    const char* const precision = fair ? "1e-12" : "1e-9";
    all.insert(
        all.end(),
        {{"network/crosstraffic", "0"}, {"network/TCP-gamma", "1e30"}, {"surf/precision", "1e-12"}, {"maxmin/precision", precision}});
  }
  all.insert(all.end(), config.begin(), config.end());
  if (!paje.empty()) {
    all.insert(all.end(), {{"tracing", "yes"},
                           {"tracing/filename", paje},
                           {"tracing/platform", "yes"},
                           {"tracing/uncategorized", "yes"},
                           {"tracing/precision", "9"}});
  }
  return all;
}

}  // namespace syncopate
