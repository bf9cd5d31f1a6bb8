#pragma once

#include <string>

#include "output/results.hpp"

namespace syncopate {

/// A line that says what is estimated, not measured, or nothing if it has been said today. $XDG_CACHE_HOME/syncopate/told (else
/// ~/.cache/syncopate/told) remembers that; where it cannot be written, the line is there every time.
std::string caveat_of_today(const Estimates& estimates);

}  // namespace syncopate
