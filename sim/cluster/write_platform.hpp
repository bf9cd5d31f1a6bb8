#pragma once

#include <string>

#include "base/document.hpp"

namespace syncopate {

/// A network as a SimGrid platform, and the cluster/1 file that has it for a network.
struct WrittenPlatform {
  std::string xml;
  Json cluster;
};

/// write_platform writes the route of every pair of nodes, so their number is limited.
constexpr int most_nodes_in_platform = 256;

/// The network of a cluster/1 document, to be written into that file. There is a host for a parameter server per node, as far as the
/// topology has places; on regions there is none. Throws InputError for what a platform cannot say, and UsageError for a file that the
/// cluster itself reads.
WrittenPlatform write_platform(const Document& document, const std::string& file);

}  // namespace syncopate
