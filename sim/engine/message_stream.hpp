#pragma once

#include <map>

#include "cluster/planned.hpp"
#include "engine/stream.hpp"

namespace syncopate {

/// The factor on the latencies of the collective at a position.
using LatencyFactor = std::function<double(Handle)>;

/// A Stream whose collectives are the messages of a Plan, no two of which share a link: per-message fidelity. Every rank starts a
/// collective when it has posted it and the one before has ended for it, and has an end of its own. When the last rank has posted, the
/// rest follows (see PlanTimes).
class MessageStream : public Stream {
 public:
  /// A poster stands for all ranks if there is only one. `shortcuts`: collectives that are the same are computed once.
  MessageStream(int index, int posters, PlannedCollectives& planned, LatencyFactor latency_factor, bool shortcuts);

  bool is_busy(int poster, Seconds time) const override;

 private:
  /// The ends of a collective from some starts, relative to the first of these.
  struct Known {
    double latency_factor = 1.0;
    std::vector<Seconds> starts;
    std::vector<Seconds> ends;
  };

  void posted(Handle handle, int poster, Seconds at) override;
  void compute(Handle handle);
  void find_ends(const Post& post, double latency_factor);
  const Known* recall(std::vector<Known>& known, double latency_factor, Seconds first) const;

  PlannedCollectives& planned_;
  LatencyFactor latency_factor_;
  bool shortcuts_;
  std::vector<Seconds> free_;    ///< by poster: the end of its last collective
  std::vector<Seconds> starts_;  ///< of the collective that is being computed, by poster
  std::vector<Seconds> ends_;
  std::map<std::pair<Operation, Bytes>, std::vector<Known>> known_;
};

}  // namespace syncopate
