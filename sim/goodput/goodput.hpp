#pragma once

#include <optional>
#include <span>

#include "base/units.hpp"

namespace syncopate {

/// What plays of a long run say together: means over the seeds. The ratio and the five shares are of each play's total, and add up to 1.
struct Goodput {
  double samples_per_s = 0.0;  ///< over the whole run
  Seconds total;
  double effective_time_ratio = 0.0;  ///< what all nodes would take for the samples, undisturbed
  double checkpoint_share = 0.0;
  double lost_share = 0.0;
  double detection_share = 0.0;
  double restart_share = 0.0;
  double degraded_share = 0.0;  ///< fewer nodes took longer; below 0 where fewer are faster
  double failures = 0.0;
  std::optional<Seconds> checkpoint_every{};  ///< of training; empty where none are written
  std::optional<Seconds> total_half{};        ///< of the 95% interval; empty where nothing fails, or of one seed
  std::optional<double> ratio_half{};         ///< likewise
};

/// Of at least one with the same run and the same failures, at iterations of other draws: means, of the intervals, too.
Goodput mean_of(std::span<const Goodput> replicates);

}  // namespace syncopate
