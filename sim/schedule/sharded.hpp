#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "collective/payload.hpp"
#include "engine/worker/worker.hpp"
#include "schedule/schedule.hpp"
#include "trace/step_profile.hpp"

namespace syncopate {

/// Layers whose parameters are gathered together, and whose gradients are reduce-scattered together.
struct Unit {
  std::size_t first_layer = 0;
  std::size_t last_layer = 0;
  Seconds ready;             ///< when its backward has ended: since backward began, on an undisturbed worker
  SharedPayload parameters;  ///< P_u
  SharedPayload gradients;   ///< G_u
  SharedPayload share;       ///< G_u/S
};

/// Ranks that keep shares of parameters, gradients and the optimiser's state. S. Rajbhandari et al., "ZeRO: memory optimizations toward
/// training trillion parameter models", SC'20; Y. Zhao et al., "PyTorch FSDP: experiences on scaling fully sharded data parallel",
/// VLDB'23. What fsdp and zero have in common.
struct Sharding {
  enum class Prefetch { pre, post, none };

  int stage = 3;
  int layers_of_unit = 0;  ///< > 0: layers with gradients in a unit; else a unit has up to `bytes_of_unit`
  Bytes bytes_of_unit{100e6};
  bool reshard_after_forward = true;
  bool reshard_last = false;
  Prefetch prefetch = Prefetch::pre;
  int limit_all_gathers = 2;
  int streams = 1;
  std::string shard_group = "all";  ///< or "node", or a number, which is `asked_group`
  int asked_group = 0;
  double parameter_bytes = 1.0;
  double reduce_bytes = 1.0;
  int accumulated = 1;
  double optimizer_bytes_per_parameter = 12.0;
  int sharders = 1;  ///< S, on the cluster
  int replicas = 1;  ///< R

  void declare_units(Parameters& parameters);
  /// Declares the parameters that only stage 3 has.
  void declare_gathering(Parameters& parameters);
  void declare_rest(Parameters& parameters);
  void place(const Cluster& cluster);
  void check_groups(Object& fields, const Cluster& cluster) const;

  Traffic traffic() const;
  Pace pace() const;
  std::vector<Unit> units(const StepProfile& profile) const;
  /// Whether units are freed when their forward has ended; else they stay gathered until backward.
  bool frees_units() const { return stage == 3 && reshard_after_forward; }
  /// The same for one of `units` units: the last one may stay gathered by itself.
  bool frees(std::size_t unit, std::size_t units) const { return frees_units() && (unit + 1 < units || reshard_last); }
  std::string note_on(const StepProfile& profile) const;
  /// Of program_that_gathers, in a step on average.
  double posts_that_gather(const StepProfile& profile) const;
  /// Of program_that_keeps.
  double posts_that_keep(const StepProfile& profile) const { return posts_with(profile, 1.0 / accumulated); }
  /// The state that a rank keeps, with these shares of parameters and gradients.
  KeptState kept(double parameters, double gradients) const {
    return {parameters, gradients, 1.0 / sharders, parameter_bytes, reduce_bytes, optimizer_bytes_per_parameter};
  }

  /// The program where units are gathered for forward and for backward.
  Program program_that_gathers(const ScheduleInput& input) const;
  /// The program where parameters stay whole, and are gathered when they have been updated: in the same step or, if `gated`, during the
  /// next forward.
  Program program_that_keeps(const ScheduleInput& input, bool gated) const;

  /// The collectives that a rank posts in a step, to the rows of traffic().
  class Rank;

 private:
  /// `gathers`: of each unit in a step, on average.
  double posts_with(const StepProfile& profile, double gathers) const;
};

}  // namespace syncopate
