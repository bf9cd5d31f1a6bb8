#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace syncopate {

/// What iperf3 and ping have measured between two places.
struct MeasuredPair {
  std::string a;
  std::string b;
  Rate up;              ///< from a to b
  Rate down;            ///< from b to a; where nobody measured that, as much
  Seconds rtt;          ///< mean
  double rtt_cv = 0.0;  ///< standard deviation / mean
};

struct MeasuredPlaces {
  std::vector<std::string> names;   ///< in order of the alphabet
  std::vector<MeasuredPair> pairs;  ///< every two of them
};

/// Reads a folder of files that are named after two places each: A-B.json, what `iperf3 --json` prints at A when B serves (with --reverse,
/// B sends), and A-B.txt, what `ping B` prints at A. Of names that have a "-" themselves, A--B. Throws InputError, also when a pair is
/// missing.
MeasuredPlaces read_measured_pairs(const std::filesystem::path& folder);

}  // namespace syncopate
