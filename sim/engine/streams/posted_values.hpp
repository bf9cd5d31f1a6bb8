#pragma once

#include <map>
#include <utility>
#include <vector>

#include "dataflow/dataflow.hpp"
#include "engine/streams/admission.hpp"

namespace syncopate {

/// What ranks' posts carry, for a record of the dataflow, until all of them have got the mean.
class PostedValues {
 public:
  /// `dataflow`: null where nothing is recorded.
  explicit PostedValues(Dataflow* dataflow) : dataflow_(dataflow) {}

  /// `rank` posts `value` as that collective of a stream.
  void post(int stream, Ticket ticket, int rank, const Values& value);
  /// One more rank will ask for the mean, and posts nothing.
  void expect(int stream, Ticket ticket);
  /// The mean of what has been posted, for a rank for which the collective has ended; empty where nothing has been posted.
  Values mean(int stream, Ticket ticket);

 private:
  struct Collective {
    std::vector<std::pair<int, Values>> posted;  ///< ranks and values
    Values mean;
    std::size_t taken = 0;   ///< how many ranks have got the mean ...
    std::size_t takers = 0;  ///< ... of how many that will
  };
  Dataflow* dataflow_;
  std::map<std::pair<int, Ticket>, Collective> collectives_;
};

}  // namespace syncopate
