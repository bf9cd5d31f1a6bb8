#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/units.hpp"
#include "scenario/scenario.hpp"

namespace syncopate {

/// Runs that were measured: seconds per iteration, by number of GPUs.
using MeasuredRuns = std::map<int, Seconds>;

/// As a share of their times: the same run on the same GPUs may differ by so much from day to day.
inline constexpr double noise_of_runs = 0.03;

/// What may make runs slower than a scenario says, in one number: none of it at 0, and the more of it the slower.
struct SlowdownCause {
  std::string_view name;
  std::string pointer;  ///< the key of a scenario that has it
  double most = 0.0;    ///< more is not plausible
  std::function<Json(double amount)> value;
};

/// The causes that runs on these numbers of GPUs can have. One that needs nodes with a network is there only if some run has several.
std::vector<SlowdownCause> causes_of(const Scenario& scenario, const MeasuredRuns& runs);

/// The settings with so much of the cause, which replaces what they say of its key.
std::vector<Setting> with_cause(const std::vector<Setting>& settings, const SlowdownCause& cause, double amount);

/// A cause that brings the scenario's times to the measured ones, in their geometric mean.
struct Fitted {
  SlowdownCause cause;
  double amount = 0.0;
  double off = 0.0;                     ///< root mean square of what is left, as a share of the times
  std::map<int, Seconds> iterations{};  ///< by number of GPUs: those of the runs, and others that are asked for
};

/// Simulates the scenario on so many GPUs with values set at pointers. Results in the order of the questions.
struct Question {
  int gpus = 1;
  std::vector<Setting> settings;
};
using Simulated = std::function<std::vector<Seconds>(const std::vector<Question>& questions)>;

/// Each cause that can explain the runs by itself, the best first. `others`: further numbers of GPUs to predict.
std::vector<Fitted> fit_causes(const std::vector<SlowdownCause>& causes, const MeasuredRuns& runs, const std::vector<int>& others,
                               const std::vector<Setting>& settings, const Simulated& simulate);

/// How many of the best fits the runs cannot tell apart.
std::size_t count_alike(const std::vector<Fitted>& fits);

/// Of the first `alike` fits, the one whose prediction for so many GPUs is in the middle.
const Fitted& middle(const std::vector<Fitted>& fits, std::size_t alike, int gpus);

}  // namespace syncopate
