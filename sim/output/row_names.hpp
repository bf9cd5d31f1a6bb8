#pragma once

#include <string>

#include "output/row.hpp"

namespace syncopate {

/// "asgd (staleness 7.2)": a schedule is never called fastest without what that may cost.
std::string with_staleness(const std::string& name, const Row& row);

/// The schedule and the collective as the sweep names them, but for the swept key `but`: "fusion, bucket 25MB".
std::string choice_of(const Row& row, const std::string& but = "");

/// The choice with its staleness.
std::string name_of(const Row& row, const std::string& but = "");

/// The other swept values: "nodes 64, bandwidth 10Gbps".
std::string setting_of(const Row& row);

/// The cluster, and the swept values but those of the cluster and of the key `but`: "64 x 10gbe (bandwidth 10Gbps)".
std::string place_of(const Row& row, const std::string& but = "");

/// The key at the end of a pointer.
std::string last_key(const std::string& pointer);

}  // namespace syncopate
