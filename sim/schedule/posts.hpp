#pragma once

#include <vector>

#include "collective/payload.hpp"
#include "schedule/grouping.hpp"
#include "trace/step_profile.hpp"

namespace syncopate {

/// The message of a group of gradients.
struct GroupPost {
  Seconds post_at;  ///< since backward began, on an undisturbed worker
  SharedPayload payload;
};

std::vector<GroupPost> group_posts(const Grouping& grouping, const StepProfile& profile);

/// The time to copy gradients that are sent together into one buffer, or out of it; 0 for a single one. `copy`: see ScheduleInput.
Seconds merge_time(const Payload& payload, SecondsPerByte copy);

/// All gradients, or the whole model, in one message.
SharedPayload whole_model(const StepProfile& profile);

}  // namespace syncopate
