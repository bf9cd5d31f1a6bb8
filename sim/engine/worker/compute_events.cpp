#include "engine/worker/compute_events.hpp"

#include <algorithm>
#include <utility>

namespace syncopate {

namespace {

/// Adds a piece for each cause that slows the work down: slow GPU, jitter, overlap. The rest of the stretch's length is a pause.
void add_slowness(std::vector<PathPiece>& pieces, Seconds undisturbed, Seconds length, Seconds noise, const Slowness& slowness) {
  Seconds done = undisturbed;
  const auto add = [&](PathClass kind, Seconds more) {
    done += more;
    if (more != Seconds(0)) pieces.push_back({.length = more, .kind = kind, .worker = slowness.worker});
  };
  add(PathClass::straggler, (slowness.always - 1.0) * undisturbed);
  add(PathClass::jitter, (slowness.jitter - 1.0) * done);
  add(PathClass::overlap, (slowness.overlap - 1.0) * done);
  const Seconds rest = length - done;
  if (rest > noise) {
    add(PathClass::pause, rest);
  } else {
    pieces.front().length += rest;
  }
}

}  // namespace

PassEvent::PassEvent(Seconds time, Cause before, const PassLayers& pass, const PassMap* own, Seconds from, Seconds to,
                     const Slowness& slowness)
    : Event(time, std::move(before)), pass_(pass), own_(own), from_(from), to_(to), slowness_(slowness) {}

Event::Story PassEvent::tell() const {
  const PathClass kind = pass_.phase() == Phase::forward ? PathClass::forward : PathClass::backward;
  std::vector<PathPiece> pieces;
  for (std::size_t number = 0; number < pass_.layers(); ++number) {
    const Seconds begin = std::max(from_, pass_.layer_begin(number));
    const Seconds end = std::min(to_, pass_.layer_end(number));
    if (end <= begin) continue;
    const Seconds share = time_between(own_, begin, end);
    pieces.push_back(
        {.length = share, .kind = kind, .worker = slowness_.worker, .layer = static_cast<std::int32_t>(pass_.layer_index(number))});
  }
  const Seconds undisturbed = time_between(own_, from_, to_);
  if (pieces.empty()) pieces.push_back({.length = undisturbed, .kind = kind, .worker = slowness_.worker});
  add_slowness(pieces, undisturbed, length(), noise(), slowness_);
  return {std::move(pieces), before()};
}

Event::Story UpdateEvent::tell() const {
  std::vector<PathPiece> pieces = {{.length = undisturbed_, .kind = PathClass::update, .worker = slowness_.worker}};
  add_slowness(pieces, undisturbed_, length(), noise(), slowness_);
  return {std::move(pieces), before()};
}

}  // namespace syncopate
