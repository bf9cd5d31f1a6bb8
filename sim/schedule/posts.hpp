#pragma once

#include <vector>

#include "collective/payload.hpp"
#include "schedule/grouping.hpp"
#include "trace/step_profile.hpp"

namespace syncopate {

/// What a group of gradients sends, and when.
struct GroupPost {
  Seconds post_at;  ///< since backward began, on an undisturbed worker
  SharedPayload payload;
};

std::vector<GroupPost> group_posts(const Grouping& grouping, const StepProfile& profile);

/// Until gradients that are sent together are in one buffer, or out of it; a single one needs none. `copy`: see ScheduleInput.
Seconds merge_time(const Payload& payload, SecondsPerByte copy);

/// All gradients, or the whole model, in one message.
SharedPayload whole_model(const StepProfile& profile);

}  // namespace syncopate
