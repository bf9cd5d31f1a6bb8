#pragma once

#include <string>

namespace syncopate {

/// Syncopate's own, such as "0.1.0".
std::string version();

}  // namespace syncopate
