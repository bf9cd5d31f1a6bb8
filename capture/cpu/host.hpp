#pragma once

#include <string>

#include "base/units.hpp"

namespace syncopate::capture {

/// As the system names it, or the architecture.
std::string processor_name();

/// Of the first processor now, or 0 where the system does not say.
double processor_hertz();

/// What this process may still take: the least of what the machine, the control group and the process' own limit leave.
Bytes available_memory();

}  // namespace syncopate::capture
