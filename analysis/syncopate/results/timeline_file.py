"""Reading timeline-<point>.json, the Chrome trace events that `simctl run --timeline` writes."""

import gc
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from syncopate.common.errors import InputError
from syncopate.common.reading import Checker, read_json, shown
from syncopate.results.folder import point_of


MESSAGE = "message"     # the category of a message of a collective


class Event(NamedTuple):
    """A stretch of time on a track of a process, in seconds from the start of the run."""

    process: int
    track: int
    name: str
    category: str
    start: float
    end: float
    iteration: object    # None on the critical path
    bytes: object        # None where nothing moves
    phase: object        # of a layer: forward or backward, else None
    slack: object        # seconds; None where it is not known


class Message(NamedTuple):
    """A message of a collective, in seconds from the start of the run. Workers are numbers, as in their names."""

    process: int            # of its sender
    track: int
    start: float
    end: float              # its bytes have moved
    iteration: object
    of: str                 # the collective's gradients
    to: int
    step: int               # of the collective
    part: int               # of the vector
    bytes: float
    alone: float            # how long it would take if nothing else moved
    sender_ready: float     # since when
    receiver_ready: float
    arrives: float
    link: object            # the one that held it back when it was slowest; None where it is not known


@dataclass(frozen=True)
class LinkUse:
    """How links were used that were used alike: `percent` has, one after the other, a percentage and how many stretches it lasts."""

    links: tuple         # (name, cable, bytes per second)
    percent: list


@dataclass(frozen=True)
class UseTable:
    """The use of all links, in so many stretches of equal length between two times."""

    start: float
    end: float
    stretches: int
    use: tuple           # of LinkUse


@dataclass(frozen=True)
class TimelineFile:
    """What one file tells; `events` by their start, `row` the point's labelled row, `window` when measuring began and ended."""

    name: str
    row: object
    window: tuple
    processes: dict      # {process: name}
    tracks: dict         # {(process, track): name}
    events: list
    links: dict          # {name of a link: (what its numbers are parts of, such as "% of 10 Gb/s", [(seconds, number from then on)])}
    messages: list       # of collectives, by their start
    missing: str         # why messages are missing; "" where none are
    left_out: str        # what of the run is left out; "" where nothing is
    table: object        # UseTable; None where there is none


def read_all(runs, frame):
    """Yields every timeline file of the runs, one after the other. Raises InputError."""
    for number, run in enumerate(runs):
        for path in run.timelines:
            yield read(path, frame[(frame["run"] == number) & (frame["point"] == point_of(path))], run.folder)


def read(path, rows, folder):
    """Python looks for garbage again and again while so many objects are made, and there is none."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        return read_whole(path, rows, folder)
    finally:
        if was_on:
            gc.enable()


def read_whole(path, rows, folder):
    again = f"write it again: simctl run SCENARIO -o {folder} --timeline"
    trace, checker = read_json(path, again), Checker(path, again)
    about, events = checker.object(trace.get("otherData"), "/otherData"), checker.list(trace.get("traceEvents"), "/traceEvents")
    if rows.empty:
        raise InputError(f"{path}: expected a point of results.csv, which has no such row; delete the file or {again}")
    row = rows.iloc[0]
    for key in ("cluster", "schedule", "nodes"):
        expected = int(row[key]) if key == "nodes" else row[key]
        checker.need(about.get(key) == expected, f"/otherData/{key}", f"{shown(expected)} as in results.csv", about.get(key))
    window = tuple(number_at(checker, f"/otherData/{key}", about.get(key)) for key in ("window_open_s", "window_close_s"))
    kinds = by_kind(events)
    processes, tracks = names_of(kinds["M"])
    missing, left_out = (checker.string(about.get(key, ""), f"/otherData/{key}") for key in ("messages", "left_out"))
    return TimelineFile(path.name, row, window, processes, tracks, events_of(checker, kinds["X"]), links_of(checker, kinds["C"]),
                        messages_of(checker, kinds[MESSAGE]), missing, left_out, table_of(checker, trace.get("links")))


def by_kind(events):
    """{phase: [(place in the file, event)]} of slices, counters and names; messages, which are slices, apart. What is no event is skipped."""
    found = {"X": [], "C": [], "M": [], MESSAGE: []}
    for place, event in enumerate(events):
        if isinstance(event, dict) and (kind := event.get("ph")) in ("X", "C", "M"):
            found[MESSAGE if kind == "X" and event.get("cat") == MESSAGE else kind].append((place, event))
    return found


def names_of(events):
    """({process: its name}, {(process, track): its name})."""
    processes, tracks = {}, {}
    for _, event in events:
        if isinstance(event.get("args"), dict):
            name = str(event["args"].get("name"))
            if event.get("name") == "process_name":
                processes[event.get("pid")] = name
            elif event.get("name") == "thread_name":
                tracks[event.get("pid"), event.get("tid")] = name
    return processes, tracks


def events_of(checker, events):
    found = []
    for place, event in events:
        start, length = number_in(checker, event, "ts", place), number_in(checker, event, "dur", place)
        process, track = integer_in(checker, event, "pid", place), integer_in(checker, event, "tid", place)
        details = event["args"] if isinstance(event.get("args"), dict) else {}
        slack = None if "slack_us" not in details else number_in(checker, details, "slack_us", place, "/args") * 1e-6
        found.append(Event(process, track, str(event.get("name")), str(event.get("cat")), start * 1e-6, (start + length) * 1e-6,
                           details.get("iteration"), details.get("bytes"), details.get("phase"), slack))
    return sorted(found, key=in_time)


def messages_of(checker, events):
    found = []
    for place, event in events:
        its = event.get("args")
        if not isinstance(its, dict):
            checker.object(its, f"/traceEvents/{place}/args")
        start, length = number_in(checker, event, "ts", place), number_in(checker, event, "dur", place)
        waits = [number_in(checker, its, key, place, "/args") * 1e-6 for key in ("alone_us", "sender_ready_us", "receiver_ready_us", "arrives_us")]
        for key in ("to", "step", "part"):
            if not (isinstance(its.get(key), int) and its[key] >= 0):
                checker.need(False, f"/traceEvents/{place}/args/{key}", "a whole number >= 0", its.get(key))
        process, track = integer_in(checker, event, "pid", place), integer_in(checker, event, "tid", place)
        volume = number_in(checker, its, "bytes", place, "/args")
        found.append(Message(process, track, start * 1e-6, (start + length) * 1e-6, its.get("iteration"), str(its.get("of")),
                             its["to"], its["step"], its["part"], volume, *waits, its.get("link")))
    return sorted(found, key=in_time)


in_time = attrgetter("start", "end")


def table_of(checker, table):
    if table is None:
        return None
    checker.object(table, "/links")
    start, end = (number_at(checker, f"/links/{key}", table.get(key)) * 1e-6 for key in ("from_us", "to_us"))
    stretches = table.get("stretches")
    checker.need(isinstance(stretches, int) and 1 <= stretches <= 1_000_000, "/links/stretches", "a whole number from 1 to 1000000", stretches)
    checker.need(end > start, "/links/to_us", "a time after from_us", table.get("to_us"))
    found = []
    for where, one in checker.objects(table.get("use"), "/links/use"):
        percent = checker.list(one.get("percent"), f"{where}/percent")
        numbers = all(isinstance(value, (int, float)) and 0 <= value < 1e9 for value in percent)
        checker.need(numbers and sum(percent[1::2]) == stretches, f"{where}/percent", f"percentages, each with how many of {stretches} stretches it lasts", percent)
        links = tuple((checker.string(link.get("name"), f"{place}/name"), checker.string(link.get("cable"), f"{place}/cable"),
                       number_at(checker, f"{place}/bandwidth_Bps", link.get("bandwidth_Bps"))) for place, link in checker.objects(one.get("links"), f"{where}/links"))
        found.append(LinkUse(links, percent))
    return UseTable(start, end, stretches, tuple(found))


def links_of(checker, events):
    """How much of its bandwidth each of the busiest links uses over time."""
    found = {}
    for place, event in events:
        if isinstance(event.get("args"), dict) and len(event["args"]) == 1:
            (unit, value), = event["args"].items()
            time, value = number_in(checker, event, "ts", place), number_in(checker, event["args"], unit, place, "/args")
            found.setdefault(str(event.get("name")), (unit, []))[1].append((time * 1e-6, value))
    return {name: (unit, sorted(steps)) for name, (unit, steps) in found.items()}


def number_at(checker, where, value):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e15:
        checker.need(False, where, "a number", value)
    return float(value)


def number_in(checker, its, key, place, under=""):
    """A number of an event, or of a part of it. There are so many that where they stand is only written where one is wrong."""
    value = its.get(key)
    if type(value) in (float, int) and -1e15 < value < 1e15:
        return value
    return number_at(checker, f"/traceEvents/{place}{under}/{key}", value)


def integer_in(checker, event, key, place):
    value = event.get(key)
    if not isinstance(value, int):
        checker.need(False, f"/traceEvents/{place}/{key}", "an integer", value)
    return value
