#pragma once

#include <cstddef>
#include <variant>
#include <vector>

#include "base/indexed.hpp"
#include "collective/payload.hpp"

namespace syncopate {

/// One message of a collective. It carries `parts` consecutive equal parts of the data, from `part` on, cyclically within its block (see
/// Plan).
struct Message {
  int from = 0;
  int to = 0;
  int part = 0;
  int parts = 1;
  int cell = 0;  ///< see Plan
};

/// Messages of one round: every rank sends at most one and receives at most one.
struct Stage {
  std::vector<Message> messages;
  int repeats = 1;       ///< the number of times the stage runs, in sequence
  int shift = 0;         ///< added to every message's `part` after each repeat, cyclically within its block
  bool reduces = false;  ///< receivers add arriving data to their own; else they overwrite it
  bool inside = false;   ///< messages stay inside nodes
};

/// A barrier of the ranks of each node: all wait for what has arrived at any of them in these cells.
struct NodeBarrier {
  int first_cell = 0;
  int cells = 1;
  bool gates_receives = false;  ///< until then, the node's first rank receives nothing from other nodes in these cells
};

using PlanStep = std::variant<Stage, NodeBarrier>;

/// The protocol of messages between nodes. A message is split into equal segments. Segments are sent in sequence; each arrives and is
/// passed on by itself.
struct Protocol {
  /// A segment waits for a notice from its receiver. The receiver sends it once it has started, and has this segment of all earlier
  /// messages from other nodes. The notice takes one latency.
  bool rendezvous = false;
  int segments = 1;

  bool operator==(const Protocol&) const = default;
};

/// The messages of one collective over `ranks` ranks. It only depends on the operation, the group and the bytes. Ranks here are member
/// numbers of the group.
///
/// Every rank sends its messages one at a time, in the order of the steps. It receives in the same order, one at a time. A message carries
/// what its sender received in earlier steps, so it waits for those of them with the same cell. One cell is enough if a rank handles one
/// thing at a time; pipelines have one cell per chunk.
///
/// Each node has `node_size` consecutive ranks, with links of their own to each other. A message between nodes goes from first rank to
/// first rank. It stands for the messages of all ranks of the node, which enter the network together. Rank j of the node moves parts /
/// node_size parts, from part + j x block / node_size on, cyclically within the block.
struct Plan {
  Operation operation = Operation::all_reduce;
  int ranks = 1;
  int node_size = 1;
  int parts = 1;  ///< number of equal parts of the vector
  int block = 1;  ///< parts per block: all of them, or those of one chunk
  int cells = 1;
  std::vector<PlanStep> steps{};
  Protocol protocol{};

  /// Segments of each message of the stage.
  int segments(const Stage& stage) const { return stage.inside ? 1 : protocol.segments; }

  /// The step with this number. It must be a stage.
  const Stage& stage(int number) const { return std::get<Stage>(steps[at(number)]); }
};

/// The number of messages (or segments) that all ranks send.
double count_messages(const Plan& plan);

/// Whether all ranks of a level do the same at the same time, given equal starts and equal links. In each stage, every rank of a node (or
/// every first rank) sends and receives one message of the same size; a barrier waits for ranks that do not.
bool is_symmetric(const Plan& plan);

/// The same steps for one rank that stands for all: it sends its messages to itself. Requires is_symmetric.
Plan fold(const Plan& plan);

// Plans of the algorithms. `chunks` >= 1 pipelines a tree, or the two levels. Others ignore it.

/// Ring. P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009. A broadcast is a chain.
Plan ring_plan(Operation operation, int ranks, int chunks);

/// Halving and doubling. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in MPICH", 2005.
///
/// If the number of ranks is not a power of two, the all-gather follows J. Bruck et al., "Efficient algorithms for all-to-all
/// communications in multiport message-passing systems", 1997. The reduce-scatter is its time reversal: ceil(log2 N) rounds and the minimal
/// bytes. A broadcast is a binomial tree.
Plan halving_doubling_plan(Operation operation, int ranks, int chunks);

/// Recursive doubling: ranks exchange whole vectors. If the number of ranks is not a power of two, the first ranks first pass their vector
/// to a neighbour, and get the result from it at the end (Thakur et al., Sec. 4). Operations other than all-reduce: as halving and
/// doubling.
Plan recursive_doubling_plan(Operation operation, int ranks, int chunks);

/// A binomial tree; its `chunks` follow each other. Reduce-scatter and all-gather: as halving and doubling.
Plan binary_tree_plan(Operation operation, int ranks, int chunks);

/// Double binary tree. P. Sanders, J. Speck and J. L. Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009.
/// Each tree carries half of the data in `chunks`. A rank takes its neighbours' chunks in turn, so chunks much shorter than a latency wait
/// for it. Operations other than all-reduce: as halving and doubling.
Plan double_binary_tree_plan(Operation operation, int ranks, int chunks);

/// The longest route of a pipeline's messages. It determines the chunk size.
struct LongestWay {
  Bytes under_way;         ///< bandwidth x latency of the route
  double reduction = 0.0;  ///< gamma / beta: time to add a byte / time to move it
};

/// The number of chunks C of each tree's half of `bytes`. It minimises the total time, with chunks of at least 32 KiB, the least that NCCL
/// takes, and at most a million messages.
///
/// Total time, for chunks that take t to move and g·t to add: about C·max(4t, latency + (2 + g)t) + 2·lg N·latency + lg N·(4 + g)·t. (A
/// rank handles 4 messages per chunk; 2 of them must come before the others.)
int double_tree_chunks(int ranks, Bytes bytes, const LongestWay& way);

/// Two levels: reduce-scatter around a ring inside every node, `among` the nodes, all-gather inside; or the part of this that the operation
/// needs. For a broadcast, the root first scatters its data within its node. With several chunks, one moves inside the nodes while another
/// one moves between them.
Plan two_level_plan(Operation operation, int nodes, int node_size, Plan among, int among_chunks, int chunks);

/// All-reduce by region: adds up along a chain in every region, in `pieces` pieces; then `among` the first ranks of the regions, in one
/// chunk and one cell; then back along the chains. `regions`: by rank.
Plan region_plan(const std::vector<std::size_t>& regions, int pieces, Plan (*among)(Operation, int, int) = ring_plan);
int largest_region(const std::vector<std::size_t>& regions);

}  // namespace syncopate
