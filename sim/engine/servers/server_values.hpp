#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "dataflow/replica.hpp"
#include "engine/servers/exchange.hpp"

namespace syncopate {

/// The model that parameter servers hold, and what they answer with.
class ServerValues {
 public:
  /// `flow`: null where nothing is recorded.
  /// `summed`: clients whose pushes a round sums.
  ServerValues(Dataflow* flow, const ServerRule& rule, int clients, int summed);

  /// A push has been handled; nothing happens where it carries nothing.
  void handle(int client, int round, const Values& pushed);
  /// What a client gets as the answer to its message number `index`: of the parts that it has pushed, or all.
  void answer(int client, std::size_t index, const Values& pushed, bool all);
  /// The answer, once.
  Values take(int client, std::size_t index);

 private:
  /// Of a round and its first part, by client.
  using Round = std::map<int, Values>;

  Dataflow* flow_;
  ServerRule rule_;
  int clients_;
  int summed_;
  Replica replica_;
  std::map<std::pair<int, std::size_t>, Round> rounds_;
  std::vector<Values> seen_;  ///< by client, the model as it was answered last
  std::map<std::pair<int, std::size_t>, Values> answers_;
};

}  // namespace syncopate
