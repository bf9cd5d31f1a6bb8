#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "base/units.hpp"
#include "collective/plan.hpp"
#include "collective/ring_time.hpp"

namespace syncopate {

/// Times of a Plan's messages if no two of them share a link: a max-plus recurrence. Cost: O(messages). The rounds of a ring without
/// protocol take O(ranks) if its bandwidths are equal, or if its links and starts are periodic. So do pieces that follow each other along
/// chains of equal links.
///
/// A transfer starts when all of these hold: the sender has sent its previous message; the receiver has received its previous message; the
/// data to send have arrived; both ranks have started. The message arrives `latency` after its transfer, plus gamma x bytes if the receiver
/// reduces. The next message need not wait for the arrival. A rank ends when all its sends are transferred and all its receives have
/// arrived. Ranks have separate channels inside their node. Segments count as messages.
class PlanTimes {
 public:
  /// `link`: the link of a message, used by no other message at the same time. It is called as long as this object lives.
  PlanTimes(Plan plan, std::function<Hop(const Message&)> link, SecondsPerByte gamma);

  const Plan& plan() const { return plan_; }

  /// Computes when each rank ends, given when it starts. `data`: bytes of the vector. Latencies are multiplied by `latency_factor`.
  void operator()(Bytes data, double latency_factor, std::span<const Seconds> starts, std::span<Seconds> ends);

  /// The longest busy time of any rank's channel in one direction.
  Seconds busiest(Bytes data) const;

  /// All ranks do the same at the same time, given equal starts: the plan is symmetric, and all links of a level are equal.
  bool in_lockstep() const { return in_lockstep_; }

  /// Time from equal starts to the end of the last rank. O(steps) in lockstep.
  Seconds from_equal_starts(Bytes data, double latency_factor = 1.0);

 private:
  struct Move {
    int from = 0;
    int to = 0;
    int from_cell = 0;  ///< index of the sender's cell
    int to_cell = 0;    ///< index of the receiver's cell
    double parts = 0.0;
    double latency = 0.0;
    double beta = 0.0;
  };
  struct Moves {
    std::vector<Move> list;
    int repeats = 1;
    bool reduces = false;
    bool inside = false;       ///< uses the ranks' channels inside nodes
    bool is_ring = false;      ///< every rank sends to the next one, repeatedly
    bool equal_costs = false;  ///< equal parts and equal bandwidths
    bool all_alike = false;    ///< equal parts, bandwidths and latencies
  };

  /// Pieces of the data that follow each other along chains of ranks. All links of a chain are alike.
  struct Chain {
    std::vector<int> ranks;
    double beta = 0.0;
    double latency = 0.0;
  };
  struct Chains {
    std::vector<Chain> list;
    std::size_t stages = 0;  ///< of the plan: hops x pieces
    int pieces = 0;
    double parts = 0.0;  ///< of a piece
    bool reduces = false;
  };

  void list_moves();
  /// The chains that the plan's stages from `first` on are; none where they are none.
  std::optional<Chains> find_chains(std::size_t first) const;
  void pass_along(const Chains& chains, double part, double latency_factor);
  double carried(std::size_t cell, const Moves& stage, std::size_t segment) const;
  /// `has_protocol`: a template parameter, because the loop is faster without protocol.
  template <bool has_protocol>
  void move(const Moves& stage, double part, double latency_factor);
  void move_round_ring(const Moves& stage, double part, double latency_factor);
  /// Links and ready times repeat around the ring with this period. All ranks if they do not.
  std::size_t period() const;
  void repeat_round_ring(int repeats, std::size_t ranks);
  void pass_round_ring(int repeats, bool alike);
  void wait(const NodeBarrier& barrier);

  Plan plan_;
  std::function<Hop(const Message&)> link_;
  double gamma_;
  bool in_lockstep_;
  std::vector<std::variant<Moves, Chains, NodeBarrier>> steps_;  ///< filled if not in lockstep, or on the first call with starts
  std::array<std::vector<double>, 2> sending_;                   ///< channels busy until, by rank: [0] between nodes, [1] inside
  std::array<std::vector<double>, 2> receiving_;                 ///< the same for receiving
  std::size_t segments_;                                         ///< segments per message between nodes
  std::vector<double> ready_;                                    ///< last arrival, by rank, cell and segment
  std::vector<double> received_;  ///< last arrival from other nodes, by rank and segment; only with rendezvous
  std::vector<double> entered_;   ///< no receives from other nodes before, by rank and cell
  std::vector<double> arrivals_;  ///< of the current stage
  std::vector<double> free_;      ///< in a ring: channel to the next rank is free from, by sender
  std::vector<double> costs_;
  std::vector<double> latencies_;
  std::vector<std::pair<std::int64_t, double>>
      latest_;  ///< candidates for the latest rank before the current one in a ring: position, lateness
};

}  // namespace syncopate
