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

/// How many parts of `size` bytes a payload of `bytes` has; at least one.
double count_parts(Bytes bytes, Bytes size);
/// Throws SimulationError where so many parts of `size` bytes, in a step, are more than can be simulated.
void check_parts(double count, Bytes size);
/// The parts of `size` bytes of a payload, the last one of what remains. They take its slices one after the other. A payload of at most
/// `size` bytes is its only part.
std::vector<SharedPayload> cut(const SharedPayload& payload, Bytes size);

/// The time to copy gradients that are sent together into one buffer, or out of it; 0 for a single one. `copy`: see ScheduleInput.
Seconds merge_time(const Payload& payload, SecondsPerByte copy);

/// All gradients, or the whole model, in one message.
SharedPayload whole_model(const StepProfile& profile);

}  // namespace syncopate
