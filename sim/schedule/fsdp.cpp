#include "schedule/sharded.hpp"

namespace syncopate {

namespace {

/// Parameters, gradients and the optimiser's state are sharded. Units are gathered when they are needed.
struct Fsdp : Sharding {
  void declare(Parameters& parameters) {
    parameters.optional("stage", stage, {2, 3}, "3: as ZeRO-3; 2: units stay gathered from forward to backward");
    declare_units(parameters);
    declare_gathering(parameters);
    declare_rest(parameters);
  }
  void check(Object& fields, const Cluster& cluster) const { check_groups(fields, cluster); }
  KeptState keeps() const {
    const double share = 1.0 / sharders;
    return kept(share, share);
  }
  double posts(const StepProfile& profile) const { return posts_that_gather(profile); }
  Program program(const ScheduleInput& input) const { return program_that_gathers(input); }
};

}  // namespace

ScheduleRow fsdp() {
  return declare_schedule<Fsdp>("fsdp", "parameters sharded, and gathered unit by unit for forward and backward; with groups: HSDP",
                                "Y. Zhao et al., \"PyTorch FSDP: experiences on scaling fully sharded data parallel\", VLDB'23");
}

}  // namespace syncopate
