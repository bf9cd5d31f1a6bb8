#include "advise/candidate.hpp"

#include <fmt/format.h>

#include "base/table.hpp"

namespace syncopate {

std::string title(const Candidate& candidate, const Advice& advice) {
  return fmt::format("{} on {} node{} of {}", value_label(candidate.schedule), candidate.nodes, candidate.nodes == 1 ? "" : "s",
                     advice.places[candidate.place].name);
}

}  // namespace syncopate
