#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/document.hpp"
#include "base/fields.hpp"
#include "cluster/link.hpp"
#include "cluster/topologies.hpp"

namespace syncopate {

struct Cluster;

/// Bandwidths and latencies that change with time, but for those between regions.
struct LinkChanges {
  using Changes = std::vector<Change<Rate>>;
  using Latencies = std::vector<Change<Seconds>>;

  std::map<int, Changes> of_nodes{};  ///< by node: of its own link, in both directions
  /// Of links between switches, or of a platform: by patterns (fnmatch) of their names, or of their cables' names for both directions. A
  /// link has the changes of the first pattern that it matches.
  std::vector<std::pair<std::string, Changes>> of_names{};
  std::map<std::string, Latencies> latencies{};  ///< of links of a platform, by name

  bool empty() const { return of_nodes.empty() && of_names.empty() && latencies.empty(); }
  /// Multiplies the bandwidths.
  void scale(double factor);
  /// Those of a link with that name; null if it has none.
  const Changes* of(const Topology::LinkName& link) const;
};

/// Reads the key `node_links` of a cluster, which must have its topology. Throws InputError.
void read_node_links(const Field& field, Cluster& cluster);

/// Reads the key `link_profiles` likewise.
void read_link_profiles(const Field& field, Cluster& cluster);

/// Leaves both keys out of a scenario's document, which has such a cluster in place.
void leave_out_changes(const Cluster& cluster, Document& document);

}  // namespace syncopate
