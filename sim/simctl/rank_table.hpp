#pragma once

#include <string>

#include "import/ranks.hpp"

namespace syncopate {

/// "Which rank is slow, in which layers, since when?", for people.
std::string describe(const RankComparison& comparison);

}  // namespace syncopate
