#pragma once

#include <cstddef>
#include <map>
#include <utility>

#include "base/indexed.hpp"
#include "dataflow/replica.hpp"
#include "engine/servers/exchange.hpp"

namespace syncopate {

/// The model that parameter servers hold, and what they answer with.
class ServerValues {
 public:
  /// `dataflow`: null where nothing is recorded. `summed`: clients whose pushes a round sums.
  ServerValues(Dataflow* dataflow, const ServerRule& rule, int clients, int summed);

  /// The servers have handled a push; nothing happens where it carries nothing.
  void handle(int client, int round, const Values& pushed);
  /// The servers answer a client's message number `index` with the parts that it has pushed, or with all.
  void answer(int client, std::size_t index, const Values& pushed, bool all);
  /// The answer to that message, once.
  Values take(int client, std::size_t index);

 private:
  /// What clients have pushed in a round, by client.
  using Round = std::map<int, Values>;

  Dataflow* dataflow_;
  ServerRule rule_;
  int clients_;
  int summed_;
  Replica replica_;
  std::map<std::pair<int, std::size_t>, Round> rounds_;    ///< by round and first part
  Indexed<Values> seen_;                                   ///< by client: the model as it was answered last
  std::map<std::pair<int, std::size_t>, Values> answers_;  ///< by client and index
};

}  // namespace syncopate
