#pragma once

#include <map>
#include <utility>
#include <vector>

#include "dataflow/dataflow.hpp"
#include "engine/streams/admission.hpp"

namespace syncopate {

/// What ranks have handed to collectives, until all of them have got what came of it.
class PostedValues {
 public:
  /// `flow`: null where nothing is recorded.
  explicit PostedValues(Dataflow* flow) : flow_(flow) {}

  /// What `rank` has posted as that collective of a stream, if it is anything.
  void post(int stream, Ticket ticket, int rank, const Values& value);
  /// One more rank will ask for the mean, which posts nothing.
  void expect(int stream, Ticket ticket);
  /// The mean of what has been posted, once the collective has ended for a rank that took part; nothing where that was nothing.
  Values mean(int stream, Ticket ticket);

 private:
  struct Collective {
    std::vector<std::pair<int, Values>> posted;  ///< by whom
    Values mean;
    std::size_t taken = 0;
    std::size_t takers = 0;
  };
  Dataflow* flow_;
  std::map<std::pair<int, Ticket>, Collective> collectives_;
};

}  // namespace syncopate
