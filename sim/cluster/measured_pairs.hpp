#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace syncopate {

/// Measurements of iperf3 and ping between two places.
struct MeasuredPair {
  std::string a;
  std::string b;
  Rate up;              ///< from a to b
  Rate down;            ///< from b to a; equal to `up` if not measured
  Seconds rtt;          ///< mean
  double rtt_cv = 0.0;  ///< standard deviation / mean
  int connections = 1;  ///< that shared the measured transfer (iperf3 -P)
};

struct MeasuredPlaces {
  std::vector<std::string> names;   ///< sorted
  std::vector<MeasuredPair> pairs;  ///< every pair of names
};

/// Reads a folder of files named after two places: A-B.json and A-B.txt (A--B if a name contains "-").
///
/// A-B.json: output of `iperf3 --json` at A with B as server (with --reverse, B sends; with --bidir,
/// both). A-B.txt: output of `ping B` at A.
///
/// Throws InputError, also if a pair is missing.
MeasuredPlaces read_measured_pairs(const std::filesystem::path& folder);

}  // namespace syncopate
