#include "engine/simgrid/network_model.hpp"

namespace syncopate {

std::vector<std::pair<std::string, std::string>> SimGridModel::settings() const {
  std::vector<std::pair<std::string, std::string>> all = {{"network/model", network_model}};
  if (network_model == "CM02") {
    all.insert(all.end(),
               {{"network/crosstraffic", "0"}, {"network/TCP-gamma", "1e30"}, {"surf/precision", "1e-12"}, {"maxmin/precision", "1e-12"}});
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
