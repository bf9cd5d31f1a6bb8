#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "output/trace_events.hpp"
#include "timeline/timeline.hpp"

namespace syncopate {

/// The messages of collectives that shown workers send: a slice each, on tracks of the sender called "sends", and an arrow from it to the
/// first message of its collective that its receiver sends when it has arrived.
class MessageTracks {
 public:
  /// `link_names`: by number in the network. Both must outlive it.
  MessageTracks(const JobTimeline& timeline, const std::vector<std::string>& link_names);

  /// A worker is shown at these times.
  void show(int worker, const Interval& time);
  void draw(TraceEvents& events);

 private:
  /// A message that is shown.
  struct Shown {
    const CollectiveMessage* message = nullptr;
    int track = 0;
  };
  void draw_slice(const Shown& shown, TraceEvents& events) const;
  void draw_arrow(const Shown& shown, TraceEvents& events) const;

  const JobTimeline& timeline_;
  const std::vector<std::string>& link_names_;
  std::map<std::pair<int, int>, const CollectiveSpan*> collectives_;  ///< by stream and number
  std::map<int, std::vector<const CollectiveMessage*>> sent_;         ///< by sender
  std::vector<Shown> shown_;
  std::map<std::tuple<int, int, int>, std::vector<std::size_t>>
      by_sender_;  ///< indices of shown_, by stream, number and sender, in the order of time
};

}  // namespace syncopate
