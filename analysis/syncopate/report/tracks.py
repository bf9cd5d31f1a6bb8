"""The measured window of a timeline file for the page: rows of slices that do not overlap, few enough to be embedded."""

from collections import defaultdict
from itertools import groupby

from syncopate.results import timeline_file

SLICES = 20_000           # of one point at most
ALL_SLICES = 200_000      # of all points of a page together
MESSAGES = 20_000         # of collectives, of one point at most
ALL_MESSAGES = 100_000    # of all points of a page together
CRITICAL = "critical"
HALF_NS = 5e-10
LEVELS = {"step": 0, "layer": 2}     # of a track's rows; all other categories lie between


def most_slices(points):
    """How many slices each of so many points may have."""
    return min(SLICES, ALL_SLICES // max(1, points))


def most_messages(points):
    """The same of messages of collectives."""
    return min(MESSAGES, ALL_MESSAGES // max(1, points))


def tracks(file, most, kinds, most_sent=MESSAGES):
    """What the page needs to draw what happens in the measured window, the first `most` slices of it. Times are whole nanoseconds.

    A row's `slices` are, one after the other, the number of the kind, the iteration (-1: none), the gap since the end of the slice
    before, and the length; its `slack` is, one after the other, of how many slices, and how much (-1: unknown). A kind is (name, category or a layer's phase, bytes or None); new ones are added to `kinds`, {kind: its
    number}. `from` and `to` are when what is shown begins and ends, `first` is the first iteration of the first worker. A track has a
    row each for steps, phases and layers; its uppermost is `named`. A link's `steps` are, one after the other, the gap since the step before,
    and percent of its bandwidth from then on.

    A row of messages of collectives, the first `most_sent` of them, also has `messages`, eight numbers each: the receiving worker, the
    step, the part, how long it would take alone, since how long its sender and its receiver were ready when it began, how long after its
    end it arrives, and the place of a link in `queues` (-1: unknown). `use` has the percentages of links used alike, and how many stretches each lasts.
    """
    measured = [one for one in file.events if one.end > file.window[0] + HALF_NS and one.start < file.window[1] - HALF_NS]
    events = measured[:most]
    rows = in_rows(events)
    steps = [one for one in measured if one.category == "step" and one.start >= file.window[0] - HALF_NS]
    first = min(steps, key=lambda one: (one.process, one.start))
    ends = max(one.end for one in events)
    shown = [one for one in file.messages if one.end > file.window[0] + HALF_NS and one.start < min(ends, file.window[1] - HALF_NS)]
    queues = {}
    sent = message_rows(file, shown[:most_sent], kinds, queues)
    return {
        "run": int(file.row["run"]), "point": int(file.row["point"]), "window": [nanoseconds(edge) for edge in file.window],
        "from": nanoseconds(min(one.start for one in events)), "to": nanoseconds(ends),
        "first": [nanoseconds(first.start), nanoseconds(first.end)], "cut": len(events) < len(measured),
        "messagesCut": len(shown) > most_sent, "missing": file.missing, "leftOut": file.left_out, "queues": list(queues), "use": use_of(file.table),
        "rows": in_order(sent, [((is_worker, process, track, level), {"process": file.processes.get(process, f"process {process}"), "track": file.tracks.get((process, track), f"track {track}"),
                  "named": level == min(other[3] for other in rows if other[1:3] == (process, track)), "layers": level == LEVELS["layer"],
                  "critical": not is_worker, "slices": encoded(its, kinds), "slack": slack_of(its)})
                 for (is_worker, process, track, level), its in rows.items()]),
        "links": [{"name": name, "of": unit.removeprefix("% of "), "steps": steps_of(steps[:most // len(file.links)])} for name, (unit, steps) in file.links.items()],
    }


def in_order(*groups):
    """The rows of (key, row) pairs, by their keys."""
    return [row for _, row in sorted((one for group in groups for one in group), key=lambda one: one[0])]


def message_rows(file, messages, kinds, queues):
    """(key, row) of each track of messages. Links are numbered in `queues`, {name: number}, which gets new ones."""
    found = defaultdict(list)
    for one in messages:
        found[True, one.process, one.track, 1].append(one)
    rows = []
    for key, its in found.items():
        slices, about, at = [], [], 0
        for one in its:
            start, end = nanoseconds(one.start), nanoseconds(one.end)
            kind = f"part {one.part} of {one.of}", timeline_file.MESSAGE, round(one.bytes, 3)
            slices += [kinds.setdefault(kind, len(kinds)), -1 if one.iteration is None else one.iteration, start - at, end - start]
            about += [one.to, one.step, one.part, nanoseconds(one.alone), start - nanoseconds(one.sender_ready), start - nanoseconds(one.receiver_ready),
                      nanoseconds(one.arrives) - end, -1 if one.link is None else queues.setdefault(str(one.link), len(queues))]
            at = end
        rows.append((key, {"process": file.processes.get(key[1], f"process {key[1]}"), "track": file.tracks.get(key[1:3], f"track {key[2]}"), "named": True,
                           "layers": False, "critical": False, "slices": slices, "slack": [len(its), -1], "messages": about}))
    return rows


def use_of(table):
    """A UseTable for the page."""
    if table is None:
        return None
    return {"from": nanoseconds(table.start), "to": nanoseconds(table.end), "stretches": table.stretches,
            "rows": [{"links": [{"name": name, "cable": cable} for name, cable, _ in one.links], "percent": one.percent} for one in table.use]}


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
