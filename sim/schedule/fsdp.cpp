#include "schedule/sharded.hpp"

namespace syncopate {

namespace {

/// Parameters, gradients and the optimiser's state are shared out; units are gathered when they are needed.
struct Fsdp {
  Sharding sharding;

  void declare(Parameters& parameters) {
    parameters.optional("stage", sharding.stage, {2, 3}, "3: as ZeRO-3; 2: units stay gathered from forward to backward");
    sharding.declare_units(parameters);
    sharding.declare_gathering(parameters);
    sharding.declare_rest(parameters);
  }

  void place(const Cluster& cluster) { sharding.place(cluster); }
  void check(Object& fields, const Cluster& cluster) const { sharding.check(fields, cluster); }
  Traffic traffic() const { return sharding.traffic(); }
  Pace pace() const { return sharding.pace(); }
  std::string note_on(const StepProfile& profile) const { return sharding.note_on(profile); }
  double posts(const StepProfile& profile) const { return sharding.posts(profile); }
  KeptState keeps() const {
    const double share = 1.0 / sharding.sharders;
    return sharding.kept(share, share);
  }
  Program program(const ScheduleInput& input) const { return sharding.program_that_gathers(input); }
};

}  // namespace

ScheduleRow fsdp() {
  return declare_schedule<Fsdp>("fsdp", "parameters sharded, and gathered unit by unit for forward and backward; with groups: HSDP",
                                "Y. Zhao et al., \"PyTorch FSDP: experiences on scaling fully sharded data parallel\", VLDB'23");
}

}  // namespace syncopate
