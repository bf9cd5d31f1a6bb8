#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cluster/link_changes.hpp"

namespace syncopate {

/// A platform's text with spaces in place of comments, line by line as it was.
std::string without_comments(std::string xml);

/// A platform's text without its profiles of bandwidths and latencies, line by line as it was, and what these say.
struct PlatformProfiles {
  std::string xml;
  std::vector<std::pair<std::string, LinkChanges::Changes>> bandwidths{};   ///< by a link's `id`
  std::vector<std::pair<std::string, LinkChanges::Latencies>> latencies{};  ///< likewise
};

/// The files that links of a platform name as their `bandwidth_file` or `latency_file`, or traces as their `file`.
std::vector<std::string> profile_files(const std::string& xml);

/// Takes the profiles out of a platform: `bandwidth_file` and `latency_file` of a link, `trace` and `trace_connect`. A profile has lines
/// "date value", in seconds and bytes per second, or seconds, and comments from # on. `name`: of the platform. `read`: the text of a file
/// of profile_files.
///
/// Throws PlatformError for a profile that repeats, that has no last bandwidth above 0, or that is of anything else.
PlatformProfiles take_profiles(const std::string& xml, const std::string& name, const std::function<std::string(const std::string&)>& read);

}  // namespace syncopate
