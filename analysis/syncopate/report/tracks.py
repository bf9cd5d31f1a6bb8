"""The measured window of a timeline file for the page: rows of slices that do not overlap, few enough to be embedded."""

from collections import defaultdict
from itertools import groupby

SLICES = 20_000           # of one point at most
ALL_SLICES = 200_000      # of all points of a page together
CRITICAL = "critical"
HALF_NS = 5e-10
LEVELS = {"step": 0, "layer": 2}     # of a track's rows; all other categories lie between


def most_slices(points):
    """How many slices each of so many points may have."""
    return min(SLICES, ALL_SLICES // max(1, points))


def tracks(file, most, kinds):
    """What the page needs to draw what happens in the measured window, the first `most` slices of it. Times are whole nanoseconds.

    A row's `slices` are, one after the other, the number of the kind, the iteration (-1: none), the gap since the end of the slice
    before, and the length; its `slack` is, one after the other, of how many slices, and how much (-1: unknown). A kind is (name, category or a layer's phase, bytes or None); new ones are added to `kinds`, {kind: its
    number}. `from` and `to` are when what is shown begins and ends, `first` is the first iteration of the first worker. A track has a
    row each for steps, phases and layers; its uppermost is `named`. A link's `steps` are, one after the other, the gap since the step before,
    and percent of its bandwidth from then on.
    """
    measured = [one for one in file.events if one.end > file.window[0] + HALF_NS and one.start < file.window[1] - HALF_NS]
    events = measured[:most]
    rows = in_rows(events)
    steps = [one for one in measured if one.category == "step" and one.start >= file.window[0] - HALF_NS]
    first = min(steps, key=lambda one: (one.process, one.start))
    return {
        "run": int(file.row["run"]), "point": int(file.row["point"]), "window": [nanoseconds(edge) for edge in file.window],
        "from": nanoseconds(min(one.start for one in events)), "to": nanoseconds(max(one.end for one in events)),
        "first": [nanoseconds(first.start), nanoseconds(first.end)], "cut": len(events) < len(measured),
        "rows": [{"process": file.processes.get(process, f"process {process}"), "track": file.tracks.get((process, track), f"track {track}"),
                  "named": level == min(other[3] for other in rows if other[1:3] == (process, track)), "layers": level == LEVELS["layer"],
                  "critical": not is_worker, "slices": encoded(its, kinds), "slack": slack_of(its)}
                 for (is_worker, process, track, level), its in sorted(rows.items(), key=lambda row: row[0])],
        "links": [{"name": name, "of": unit.removeprefix("% of "), "steps": steps_of(steps[:most // len(file.links)])} for name, (unit, steps) in file.links.items()],
    }


def in_rows(events):
    """{(not on the critical path, process, track, level): the events, which do not overlap}."""
    found = defaultdict(list)
    for event in events:
        found[event.category != CRITICAL, event.process, event.track, LEVELS.get(event.category, 1)].append(event)
    return found


def encoded(events, kinds):
    found, at = [], 0
    for event in events:
        iteration = -1 if event.iteration is None else event.iteration
        kind = event.name.removesuffix(f", iteration {iteration}").removesuffix(f" {iteration}"), event.phase or event.category, event.bytes
        start, end = nanoseconds(event.start), nanoseconds(event.end)
        found += [kinds.setdefault(kind, len(kinds)), iteration, start - at, end - start]
        at = end
    return found


def steps_of(steps):
    found, at = [], 0
    for seconds, percent in steps:
        found += [nanoseconds(seconds) - at, round(percent, 1)]
        at = nanoseconds(seconds)
    return found


def slack_of(events):
    found = []
    for slack, its in groupby(-1 if one.slack is None else nanoseconds(one.slack) for one in events):
        found += [len(list(its)), slack]
    return found


def nanoseconds(seconds):
    return round(seconds * 1e9)
