#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenario/scenario.hpp"
#include "timeline/shown_time.hpp"
#include "timeline/timeline.hpp"
#include "trace/step_profile.hpp"

namespace syncopate {

/// What of a run a timeline shows, and how its file is written.
struct TimelineView {
  using Iterations = ShownTime::Iterations;
  /// Simulated workers of a run that is shown with its critical path, and what messages with servers and peers do to links: for the memory
  /// that this takes.
  static constexpr int most_in_full = 64;

  std::vector<int> ranks{};                ///< GPUs, ascending; empty: the first 8 simulated workers
  std::optional<Iterations> iterations{};  ///< else the whole run, warm-up included
  bool is_whole = false;                   ///< the whole run is asked for
  bool is_shortened = false;               ///< nobody has asked for these iterations
  bool compressed = false;                 ///< as gzip

  /// Whether nobody says what of the run is shown.
  bool is_open() const { return !iterations && !is_whole; }
  /// Shows the first three measured iterations, or a whole cycle of the schedule where that is more.
  void shorten(const Scenario& scenario);

  /// The simulated workers that are shown, ascending: of so many, each of which stands for so many GPUs.
  std::vector<int> workers(int simulated, int gpus) const;
};

/// A piece of the critical path, for people.
struct PathSlice {
  Interval time;
  std::string name;
  int worker = -1;        ///< -1: none
  bool computes = false;  ///< the worker does
};

/// How one direction of a link was used over time.
struct LinkUse {
  struct Change {
    Seconds at;
    double utilisation = 0.0;  ///< from then on
  };
  std::string name;
  Rate bandwidth;
  std::vector<Change> changes;  ///< in the order of time; unused before the first and after the last
  bool others_alike = false;    ///< others of the busiest links are used in the same way
};

/// How links were used over time, in stretches of equal length.
struct LinkTable {
  struct Link {
    std::string name;
    std::string cable;  ///< the same of both its directions
    Rate bandwidth;
    std::vector<double> utilisation;  ///< by stretch
  };
  Interval shown;
  std::size_t bins = 0;     ///< stretches
  std::vector<Link> links;  ///< that something crosses then
};

/// What a timeline says of a network.
struct NetworkView {
  std::vector<LinkUse> busiest{};  ///< counter tracks, in a process of their own
  LinkTable links{};
  std::vector<std::string> link_names{};  ///< by number in the network; may be empty where no messages of collectives were kept
  std::vector<std::string> hosts{};       ///< by simulated worker, where hosts have names
  std::string missing_messages{};         ///< describe_missing_messages
};

/// When anything of a run is shown; no time at all where nothing is.
Interval shown_time(const JobTimeline& timeline, const TimelineView& view);

/// A timeline in the Chrome trace-event format, which Perfetto and chrome://tracing open: a process per shown worker, a track for its
/// compute and one for its Stream, arrows from the layers' backward to what takes their gradients away. Slices on a track nest; times are
/// whole nanoseconds. `path`: of a run that has recorded causes, in the order of time; a process of its own, with an arrow to what a
/// shown worker computes whenever the path comes to it. Messages of collectives are on tracks of their senders.
std::string timeline_json(const JobTimeline& timeline, const StepProfile& profile, const Point& point, const TimelineView& view,
                          const std::vector<PathSlice>& path = {}, const NetworkView& network = {});

}  // namespace syncopate
