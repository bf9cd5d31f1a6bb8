#include "base/version.hpp"

namespace syncopate {

std::string version() { return SYNCOPATE_VERSION; }

}  // namespace syncopate
