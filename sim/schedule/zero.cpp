#include "schedule/sharded.hpp"

namespace syncopate {

namespace {

/// DeepSpeed's stages: 1 shards the optimiser's state, 2 also gradients, 3 also parameters.
struct Zero : Sharding {
  bool gated = false;

  void declare(Parameters& parameters) {
    parameters.optional("stage", stage, {1, 3}, "what is sharded: 1 the optimiser's state, 2 also gradients, 3 also parameters");
    declare_units(parameters);
    parameters.optional("gather", gated, {{"after-update", false}, {"next-forward", true}},
                        "stages 1 and 2: the step waits for the updated parameters, or the next forward does, unit by unit");
    declare_gathering(parameters);
    declare_rest(parameters);
  }

  bool gathers_units() const { return stage == 3; }
  void check(Object& fields, const Cluster& cluster) const {
    check_groups(fields, cluster);
    const auto refuse = [&](const char* name, const char* why) {
      if (const auto field = fields.find(name)) field->fail_because(why);
    };
    if (gathers_units()) return refuse("gather", R"(stage 3 gathers units when they are needed; leave it out, or use "stage": 2)");
    for (const char* const of_stage_3 : {"reshard_after_forward", "prefetch", "reshard_last", "limit_all_gathers"})
      refuse(of_stage_3, R"(parameters stay whole in stages 1 and 2; leave it out, or use "stage": 3)");
  }
  KeptState keeps() const {
    const double share = 1.0 / sharders;
    return kept(gathers_units() ? share : 1.0, stage >= 2 ? share : 1.0);
  }
  double posts(const StepProfile& profile) const { return gathers_units() ? posts_that_gather(profile) : posts_that_keep(profile); }
  Program program(const ScheduleInput& input) const {
    return gathers_units() ? program_that_gathers(input) : program_that_keeps(input, gated);
  }
};

}  // namespace

ScheduleRow zero() {
  return declare_schedule<Zero>("zero", "DeepSpeed's ZeRO: the optimiser's state sharded, then gradients, then parameters",
                                "S. Rajbhandari et al., \"ZeRO: memory optimizations toward training trillion parameter models\", SC'20");
}

}  // namespace syncopate
