"""Reading timeline-<point>.json, the Chrome trace events that `simctl run --timeline` writes."""

from dataclasses import dataclass
from typing import NamedTuple

from errors import InputError
from results import point_of, read_json, shown


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


@dataclass(frozen=True)
class TimelineFile:
    """What one file tells; `events` by their start, `row` the point's labelled row, `window` when measuring began and ended."""

    name: str
    row: object
    window: tuple
    processes: dict      # {process: name}
    tracks: dict         # {(process, track): name}
    events: list


def read_all(runs, frame):
    """Yields every timeline file of the runs, one after the other. Raises InputError."""
    for number, run in enumerate(runs):
        for path in run.timelines:
            yield read(path, frame[(frame["run"] == number) & (frame["point"] == point_of(path))], run.folder)


def read(path, rows, folder):
    again = f"write it again: simctl run SCENARIO -o {folder} --timeline"
    trace = read_json(path, again)
    about, events = trace.get("otherData"), trace.get("traceEvents")
    if not isinstance(about, dict):
        raise InputError(f"{path}: /otherData: expected an object, got {shown(about)}; {again}")
    if not isinstance(events, list):
        raise InputError(f"{path}: /traceEvents: expected a list, got {shown(events)}; {again}")
    if rows.empty:
        raise InputError(f"{path}: expected a point of results.csv, which has no such row; delete the file or {again}")
    row = rows.iloc[0]
    for key in ("cluster", "schedule", "nodes"):
        expected = int(row[key]) if key == "nodes" else row[key]
        if about.get(key) != expected:
            raise InputError(f"{path}: /otherData/{key}: expected {shown(expected)} as in results.csv, "
                             f"got {shown(about.get(key))}; {again}")
    window = tuple(number_at(path, f"/otherData/{key}", about.get(key), again) for key in ("window_open_s", "window_close_s"))
    processes, tracks = names_of(events)
    return TimelineFile(path.name, row, window, processes, tracks, events_of(path, events, again))


def names_of(events):
    """({process: its name}, {(process, track): its name})."""
    processes, tracks = {}, {}
    for event in events:
        if isinstance(event, dict) and event.get("ph") == "M" and isinstance(event.get("args"), dict):
            name = str(event["args"].get("name"))
            if event.get("name") == "process_name":
                processes[event.get("pid")] = name
            elif event.get("name") == "thread_name":
                tracks[event.get("pid"), event.get("tid")] = name
    return processes, tracks


def events_of(path, events, again):
    found = []
    for place, event in enumerate(events):
        if not isinstance(event, dict) or event.get("ph") != "X":
            continue
        start, length = (number_at(path, f"/traceEvents/{place}/{key}", event.get(key), again) for key in ("ts", "dur"))
        for key in ("pid", "tid"):
            if not isinstance(event.get(key), int):
                raise InputError(f"{path}: /traceEvents/{place}/{key}: expected an integer, got {shown(event.get(key))}; {again}")
        details = event["args"] if isinstance(event.get("args"), dict) else {}
        slack = None if "slack_us" not in details else number_at(path, f"/traceEvents/{place}/args/slack_us", details["slack_us"], again) * 1e-6
        found.append(Event(event["pid"], event["tid"], str(event.get("name")), str(event.get("cat")), start * 1e-6,
                           (start + length) * 1e-6, details.get("iteration"), details.get("bytes"), details.get("phase"), slack))
    return sorted(found, key=lambda one: (one.start, one.end))


def number_at(path, place, value, again):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e15:
        raise InputError(f"{path}: {place}: expected a number, got {shown(value)}; {again}")
    return float(value)
