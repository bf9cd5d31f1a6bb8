#pragma once

#include <compare>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.hpp"
#include "collective/closed_form.hpp"
#include "collective/plan.hpp"

namespace syncopate {

/// One row of the table of algorithms. An operation for which an algorithm has no plan of its own uses another plan: see the plans'
/// comments (plan.hpp).
struct Algorithm {
  std::string_view name;
  std::string_view meaning;
  ClosedForm all_reduce;
  ClosedForm reduce_scatter;
  ClosedForm all_gather;
  ClosedForm broadcast;
  Plan (*plan)(Operation operation, int ranks, int chunks);
  bool is_pipelined;        ///< always splits data into chunks
  bool takes_chunks;        ///< a scenario may set `chunk`
  std::string_view caveat;  ///< a warning that reports add to its alpha-beta figures, or empty

  const ClosedForm& form(Operation operation) const;
};

/// The all-reduce that a scenario asks for.
struct AllReduce {
  const Algorithm* algorithm = nullptr;        ///< among the nodes, if they have several GPUs
  std::string name;                            ///< the scenario's name for it
  bool two_level = false;                      ///< the scenario says "two-level"
  bool by_region = false;                      ///< first within each region, then among regions; other operations use `algorithm`
  const Algorithm* between_regions = nullptr;  ///< if by_region: the algorithm among regions
  bool across_gpus = false;                    ///< one level over all ranks, without regard to nodes
  bool in_network = false;                     ///< switches add up somewhere: no messages between ranks, a closed form
  bool inside_in_network = false;              ///< within nodes, not only between them
  Bytes chunk{};                               ///< > 0: chunk size of a pipeline
  /// "auto": those of which each collective uses the fastest for its bytes; empty: this one.
  std::vector<AllReduce> candidates{};
};

/// The table. To add an algorithm, add a row, and a test of its closed forms. The ring comes first.
std::span<const Algorithm> algorithms();
const Algorithm& ring();
/// Switches add up. Not in the table.
const Algorithm& switches();

/// Reads an algorithm's name, or an object with `name`, and `chunk` for a pipeline. Throws InputError with the nearest name.
///
/// `two-level`: names explicitly what every algorithm does if nodes have several GPUs; `between` is the algorithm among nodes (default:
/// ring). With `chunk`, one chunk moves inside the nodes while another one moves between them.
///
/// `by-region`: adds up within each region first; `between` is the algorithm among regions.
///
/// `ring` with `across`: one ring over all GPUs.
///
/// `in-network`: switches add up, and send the sum to all: those between nodes, or in a cluster of one node those within it. With `inside`,
/// also of `two-level`, those within nodes do, too. R. Graham et al., "Scalable hierarchical aggregation protocol (SHArP): a
/// hardware architecture for efficient data reduction", COMHPC'16; within a node: NVLink SHARP (NVLS). Other operations take what a ring
/// takes.
///
/// `auto`: the fastest of ring, halving-doubling and recursive-doubling for each collective's bytes, `candidates`. A double tree is not
/// among them: its closed form is below what any all-reduce can reach.
AllReduce read_all_reduce(const Field& field);

AllReduce default_all_reduce();
AllReduce ring_across_gpus();
AllReduce automatic_all_reduce();
AllReduce in_network_all_reduce();

/// Nodes with equally many ranks, in the order of the ranks.
struct NodeGroups {
  int nodes = 1;
  int ranks_per_node = 1;
  std::vector<std::size_t> regions{};  ///< of each node; empty without regions
  int largest_region = 0;              ///< its number of nodes
};

/// The number of chunks of a collective's data: between nodes, and between the levels of a two-level plan. For an all-gather, each rank's
/// contribution is split. A double tree always uses chunks; the default size suits the longest `way`.
struct Chunks {
  int between = 1;
  int levels = 1;

  auto operator<=>(const Chunks&) const = default;
};
Chunks chunks_of(const AllReduce& all_reduce, Operation operation, const NodeGroups& groups, Bytes vector, const LongestWay& way);

/// The messages of a collective over nodes and ranks as in `groups`.
Plan make_plan(const AllReduce& all_reduce, Operation operation, const NodeGroups& groups, Chunks chunks);

}  // namespace syncopate
