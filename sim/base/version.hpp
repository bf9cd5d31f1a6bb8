#pragma once

#include <string>

namespace syncopate {

/// Syncopate's version, such as "0.1.0".
std::string version();

}  // namespace syncopate
