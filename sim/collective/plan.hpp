#pragma once

#include <cstddef>
#include <variant>
#include <vector>

#include "collective/payload.hpp"

namespace syncopate {

/// One message of a collective: some of the equal parts of its data, `part`, `part + 1`, ... round its block (see Plan).
struct Message {
  int from = 0;
  int to = 0;
  int part = 0;
  int parts = 1;
  int cell = 0;  ///< see Plan
};

/// Messages of which every rank sends at most one and receives at most one.
struct Stage {
  std::vector<Message> messages;
  int repeats = 1;       ///< how many times the stage comes, one after the other ...
  int shift = 0;         ///< ... with every message's first part so much higher each time, round its block
  bool reduces = false;  ///< receivers add what arrives to what they have; else it replaces that
  bool inside = false;   ///< the nodes, between ranks of the same one
};

/// The ranks of every node wait for what has arrived at any of them in some cells.
struct NodeBarrier {
  int first_cell = 0;
  int cells = 1;
  bool gates_receives = false;  ///< only then may the first of them receive from other nodes in these cells
};

using PlanStep = std::variant<Stage, NodeBarrier>;

/// How messages go between nodes. Their equal segments follow each other; each arrives by itself, and is sent on with the same ones.
struct Protocol {
  bool rendezvous = false;  ///< a segment waits for its receiver's notice, which that sends when it has started and has this
                            ///< segment of all that it receives from other nodes before; that takes a latency
  int segments = 1;

  bool operator==(const Protocol&) const = default;
};

/// The messages of one collective over `ranks` ranks: a pure function of the operation, the group and the bytes. Rank i here is
/// the i-th of the group.
///
/// Every rank sends its messages in the order of the steps, one at a time, and receives them in that order, one at a time. A
/// message carries what its sender has received in earlier steps: it waits for those of them that have its own cell. One cell
/// is enough where a rank handles one thing at a time; pipelines have one for each chunk of the data.
///
/// Ranks of the same node (`node_size` successive ones) have links of their own to each other. A message between nodes goes
/// from first rank to first rank and stands for the shares of all ranks of the node, which enter the network together: the j-th of them
/// has the j-th part of every block, and moves parts / node_size from part + j x block / node_size on, round that.
struct Plan {
  Operation operation = Operation::all_reduce;
  int ranks = 1;
  int node_size = 1;
  int parts = 1;  ///< of the vector's bytes
  int block = 1;  ///< so many successive parts follow each other round: all of them, or those of one chunk
  int cells = 1;
  std::vector<PlanStep> steps{};
  Protocol protocol{};

  /// Of each of the stage's messages.
  int segments(const Stage& stage) const { return stage.inside ? 1 : protocol.segments; }

  /// The messages of the step `number`, which must be a stage.
  const Stage& stage(int number) const { return std::get<Stage>(steps[static_cast<std::size_t>(number)]); }
};

/// How many messages all ranks send, or segments of them.
double count_messages(const Plan& plan);

/// From equal starts over equal links every rank of a level does the same at the same time: in each stage, each rank of a node, or
/// each first one, sends one message and receives one of the same size, and ranks that do not are waited for.
bool is_symmetric(const Plan& plan);

/// The same plan, step by step, for one rank that stands for all: it sends its messages to itself. Requires is_symmetric.
Plan fold(const Plan& plan);

// The algorithms. `chunks` >= 1 pipelines a tree, or two levels; the others have no use for it.

/// P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009. A broadcast is a chain.
Plan ring_plan(Operation operation, int ranks, int chunks);

/// Halving and doubling: R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in MPICH",
/// 2005. Where the number of ranks is no power of two, the all-gather is that of J. Bruck et al., "Efficient algorithms for
/// all-to-all communications in multiport message-passing systems", 1997, and the reduce-scatter its mirror image in time: as many
/// rounds as log2 rounded up, and the least bytes. A broadcast is a binomial tree.
Plan halving_doubling_plan(Operation operation, int ranks, int chunks);

/// Exchanges of everything; where the number of ranks is no power of two, the first few of them pass theirs to a neighbour before
/// and get the result from it afterwards (Thakur et al., Sec. 4). Other operations as halving and doubling.
Plan recursive_doubling_plan(Operation operation, int ranks, int chunks);

/// A binomial tree, with `chunks` of the data one after the other. Reduce-scatter and all-gather as halving and doubling.
Plan binary_tree_plan(Operation operation, int ranks, int chunks);

/// P. Sanders, J. Speck and J. L. Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009. Each tree
/// carries half of the data in `chunks`. Other operations as halving and doubling. A rank takes the chunks of its neighbours in
/// turn, so that chunks that are much shorter than a latency wait for it.
Plan double_binary_tree_plan(Operation operation, int ranks, int chunks);

/// The longest way of a pipeline's messages, which its chunks suit.
struct LongestWay {
  Bytes under_way;         ///< its bandwidth x its latency
  double reduction = 0.0;  ///< gamma / beta: how long it takes to add up what it carries in a second
};

/// Into how many chunks a double tree divides each half of so many bytes: as many as take the least time, each of 128 KiB at least, but
/// not so many that there were over a million messages. Of C chunks that take t each, and g t to add up, a rank handles four in the time
/// of one, two of them before the others can follow: all take about
/// C max(4 t, latency + (2 + g) t) + 2 lg N latency + lg N (4 + g) t.
int double_tree_chunks(int ranks, Bytes bytes, const LongestWay& way);

/// A reduce-scatter round a ring inside every node, `among` the nodes, an all-gather inside; or what of these the
/// operation needs. A broadcast's root first deals its data out to its node. With several chunks, one is inside the nodes while another
/// one is between them.
Plan two_level_plan(Operation operation, int nodes, int node_size, Plan among, int among_chunks, int chunks);

/// An all-reduce that adds up along a chain in every region, in so many pieces, goes on `among` the regions' first ranks, in one chunk and
/// one cell, and comes back along the chains. `regions`: of the ranks.
Plan region_plan(const std::vector<std::size_t>& regions, int pieces, Plan (*among)(Operation, int, int) = ring_plan);
int largest_region(const std::vector<std::size_t>& regions);

}  // namespace syncopate
