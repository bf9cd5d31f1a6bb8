#include "engine/simgrid/network_model.hpp"

namespace syncopate {

std::vector<std::pair<std::string, std::string>> SimGridModel::settings() const {
  std::vector<std::pair<std::string, std::string>> all = {{"network/model", network_model}};
  if (network_model == "CM02") {
    all.insert(all.end(),
               {{"network/crosstraffic", "0"}, {"network/TCP-gamma", "1e30"}, {"surf/precision", "1e-12"}, {"maxmin/precision", "1e-12"}});
  }
  all.insert(all.end(), config.begin(), config.end());
  return all;
}

}  // namespace syncopate
