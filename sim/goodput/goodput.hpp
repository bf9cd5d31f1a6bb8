#pragma once

#include <optional>

#include "base/units.hpp"

namespace syncopate {

/// Means over the seeds of a long run. The ratio and the five shares are fractions of each play's total; they add up to 1.
struct Goodput {
  double samples_per_s = 0.0;  ///< over the whole run
  Seconds total;
  double effective_time_ratio = 0.0;  ///< time that all nodes would take for the samples without disturbance
  double checkpoint_share = 0.0;
  double lost_share = 0.0;
  double detection_share = 0.0;
  double restart_share = 0.0;
  double degraded_share = 0.0;  ///< extra time because fewer nodes trained; negative if fewer nodes are faster
  double failures = 0.0;
  std::optional<Seconds> checkpoint_every{};  ///< training time between two; empty without checkpoints
  std::optional<Seconds> total_half{};        ///< half width of the 95% interval; empty if nothing fails, or for one seed
  std::optional<double> ratio_half{};         ///< half width of the 95% interval of the ratio; empty like total_half
};

}  // namespace syncopate
