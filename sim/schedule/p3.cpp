#include "schedule/by_layer.hpp"

namespace syncopate {

namespace {

/// Slices of tensors go over parameter servers one at a time; slices of the layer nearest to the input go first. A slice has 40,000
/// parameters, as in MXNet's P3Store.
struct P3 {
  static constexpr Bytes one_at_a_time = Bytes(1);
  PartsOverServers sent = {.size = Bytes(160e3), .credit = {one_at_a_time}};

  void declare(Parameters& parameters) {
    parameters.optional("partition", sent.size, "size of a part of a tensor");
    sent.servers.declare_places(parameters);
    sent.servers.compression.declare(parameters, true);
  }

  void place(const Cluster& cluster) { sent.servers.place(cluster); }
  Traffic traffic() const { return sent.traffic(); }
  Pace pace() const { return sent.pace(); }
  double posts(const StepProfile& profile) const { return count_parts(profile, sent.size); }
  std::string note_on(const StepProfile& profile) const { return note_whole_tensors(profile, sent.size); }
  std::string unrecorded() const { return sent.servers.compression.unrecorded(); }
  std::vector<ModelPart> parts(const ScheduleInput& input) const {
    return model_parts(input.profile, sent.size, !sent.servers.compression.is_none());
  }
  Program program(const ScheduleInput& input) const { return sent.program(input); }
};

}  // namespace

ScheduleRow p3() {
  return declare_schedule<P3>("p3", "slices of gradients over parameter servers, those of layers near the input first",
                              "A. Jayarajan et al., \"Priority-based parameter propagation for distributed DNN training\", MLSys'19");
}

}  // namespace syncopate
