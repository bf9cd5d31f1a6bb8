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

/// One row of the table of algorithms. What has no row of its own for an operation goes by another one's plan, as its plan's comment says.
struct Algorithm {
  std::string_view name;
  std::string_view meaning;
  ClosedForm all_reduce;
  ClosedForm reduce_scatter;
  ClosedForm all_gather;
  ClosedForm broadcast;
  Plan (*plan)(Operation operation, int ranks, int chunks);
  bool is_pipelined;        ///< always in chunks
  bool takes_chunks;        ///< `chunk` means something to it
  std::string_view caveat;  ///< what every report must say of its figures in alpha-beta fidelity, or empty

  const ClosedForm& form(Operation operation) const;
};

/// How a scenario's all-reduces move their bytes.
struct AllReduce {
  const Algorithm* algorithm = nullptr;        ///< with several GPUs per node, among the nodes
  std::string name;                            ///< as the scenario calls it
  bool two_level = false;                      ///< called so
  bool by_region = false;                      ///< in each region, then among them; other operations by the algorithm
  const Algorithm* between_regions = nullptr;  ///< ... where it is that, among them
  bool across_gpus = false;                    ///< in one level over all ranks, whatever nodes they are on
  Bytes chunk{};                               ///< > 0: of a pipeline
};

/// The table: to add an algorithm, add a row (and its closed forms' test). The ring is the first one.
std::span<const Algorithm> algorithms();
const Algorithm& ring();

/// Reads an algorithm's name (or an object with its `name`, and a `chunk` where it is a pipeline). `two-level`, with the algorithm
/// `between` the nodes (ring), says what holds of every algorithm where nodes have several GPUs; its chunks are inside the nodes
/// and between them at the same time. `by-region` adds up in each region first, and has an algorithm `between` regions. A ring may go
/// `across` all GPUs. Throws InputError with the nearest name.
AllReduce read_all_reduce(const Field& field);

/// The ring.
AllReduce default_all_reduce();
AllReduce ring_across_gpus();

/// Nodes with as many ranks each, in the order of the ranks.
struct NodeGroups {
  int nodes = 1;
  int ranks_per_node = 1;
  std::vector<std::size_t> regions{};  ///< of the nodes; empty without
  int largest_region = 0;              ///< its nodes
};

/// In how many chunks a collective's bytes go: between nodes, and from level to level. A chunk of an all-gather is one of what each
/// rank comes with. A double tree is always in chunks, by default of a size that suits the longest `way`.
struct Chunks {
  int between = 1;
  int levels = 1;

  auto operator<=>(const Chunks&) const = default;
};
Chunks chunks_of(const AllReduce& all_reduce, Operation operation, const NodeGroups& groups, Bytes vector, const LongestWay& way);

/// The messages of a collective over those nodes.
Plan make_plan(const AllReduce& all_reduce, Operation operation, const NodeGroups& groups, Chunks chunks);

}  // namespace syncopate
