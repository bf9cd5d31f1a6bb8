"""One iteration as lanes: reading timeline-<point>.json, and the figure that compares schedules on one time axis."""

import re
import statistics
from dataclasses import dataclass

from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

import style
from errors import InputError
from figures import NAMES, TITLE_LINE, WIDTH, heading, heading_height, name_rows
from results import read_json, shown, timeline_point
from style import Names, Sheet, legend_height, look, wrap
from units import duration, time_axis

COMPUTE, COMMUNICATION = 1, 2
PHASES = {"forward": ("forward", style.SKY), "backward": ("backward", style.BLUE), "update": ("update", style.GREEN),
          "wait": ("waiting for other workers", style.WAITING), "exposed": ("exposed communication", style.ORANGE)}
CHANNEL = (style.PURPLE, "#94497A")   # successive messages alternate
OTHER = "#E3DCE1"                     # a message of another iteration


@dataclass(frozen=True)
class Slice:
    """A stretch of a lane, in seconds from the start of the iteration."""

    kind: str
    start: float
    end: float
    own: bool = True      # False: belongs to another iteration


@dataclass(frozen=True)
class Lanes:
    """One worker's iteration: what it computed and what its communication channel carried."""

    panel: str
    series: str
    nodes: int
    rank: int
    iteration: int
    length: float
    compute: tuple
    channel: tuple
    alone: bool = False   # one worker stands for all
    mean: float = 0.0     # of all iterations in the window


def read_all(runs, frame):
    """(lanes of every timeline file, sentences about files that hold no whole measured iteration)."""
    lanes, skipped = [], []
    for number, run in enumerate(runs):
        for path in run.timelines:
            point = timeline_point(path)
            rows = frame[(frame["run"] == number) & (frame["point"] == point)]
            found = read(path, rows, run.folder)
            if found:
                lanes.append(found)
            else:
                skipped.append(f"{path.name}: no whole iteration inside the measured window; not drawn.")
    return lanes, skipped


def read(path, rows, folder):
    """The first whole iteration of median length inside the measured window of the first worker, or None."""
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
    window = [number_at(path, f"/otherData/{key}", about.get(key), again)
              for key in ("window_open_s", "window_close_s")]
    slices = slices_of(path, events, again)
    steps = [one for one in slices if one["cat"] == "step"]
    process = min((one["pid"] for one in steps), default=None)
    mine = [one for one in slices if one["pid"] == process]
    step = typical([one for one in steps if one["pid"] == process], window)
    return None if step is None else lanes_of(mine, step, row, worker_of(events, process))


def worker_of(events, process):
    """The worker that a process of the file stands for: the number in the process's name, such as "rank 0"."""
    for event in events:
        if isinstance(event, dict) and event.get("name") == "process_name" and event.get("pid") == process:
            number = re.search(r"\d+", str(event.get("args")))
            return int(number[0]) if number else process
    return process


def slices_of(path, events, again):
    found = []
    for place, event in enumerate(events):
        if not isinstance(event, dict) or event.get("ph") != "X":
            continue
        start, length = (number_at(path, f"/traceEvents/{place}/{key}", event.get(key), again) for key in ("ts", "dur"))
        for key in ("pid", "tid"):
            if not isinstance(event.get(key), int):
                raise InputError(f"{path}: /traceEvents/{place}/{key}: expected an integer, "
                                 f"got {shown(event.get(key))}; {again}")
        arguments = event.get("args")
        found.append({"pid": event["pid"], "tid": event["tid"], "cat": str(event.get("cat")),
                      "start": start * 1e-6, "end": (start + length) * 1e-6,
                      "iteration": arguments.get("iteration") if isinstance(arguments, dict) else None})
    return sorted(found, key=lambda one: (one["start"], one["end"]))


def number_at(path, place, value, again):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e15:
        raise InputError(f"{path}: {place}: expected a number, got {shown(value)}; {again}")
    return float(value)


def typical(steps, window):
    """The first step of median length among those that lie in the window as a whole; None if there is none."""
    slack = 1e-6 * max(abs(edge) for edge in window) + 1e-9
    whole = [one for one in steps if one["start"] >= window[0] - slack and one["end"] <= window[1] + slack
             and one["end"] > one["start"]]
    if not whole:
        return None
    lengths = [one["end"] - one["start"] for one in whole]
    median = statistics.median_low(lengths)
    return next(one for one, length in zip(whole, lengths) if length >= median - slack and length <= median + slack)


def lanes_of(slices, step, row, rank):
    begin, end = step["start"], step["end"]

    def inside(is_track, keep):
        return tuple(Slice(one["cat"], max(one["start"], begin) - begin, min(one["end"], end) - begin,
                           one["iteration"] == step["iteration"])
                     for one in slices
                     if is_track(one["tid"]) and keep(one["cat"]) and one["end"] > begin and one["start"] < end)

    return Lanes(row["panel"], row["series"], int(row["nodes"]), rank, step["iteration"], end - begin,
                 inside(COMPUTE.__eq__, PHASES.__contains__), inside(COMPUTE.__ne__, lambda _: True),
                 row["workers_simulated"] == 1, float(row["iteration_s"]))


def figure(lanes, styles, notes):
    """A panel per setting and size; in it, per schedule, a compute lane above a communication lane."""
    with look():
        groups = grouped(lanes, styles)
        names = Names([one.series for one in lanes], 7, NAMES)
        left = names.width + 0.38
        handles = legend_handles(lanes)
        head = heading_height(notes, WIDTH)
        lane = max(0.34, names.row)
        titles = {(panel, nodes): wrap(f"{panel}, {nodes} node{'s' if nodes > 1 else ''}{shown_worker(group)}", 8.5,
                                       WIDTH - left - 0.1, "bold") for (panel, nodes), group in groups.items()}
        heights = [lane * len(group) + 0.08 for group in groups.values()]
        above = sum(TITLE_LINE * (len(title) - 1) for title in titles.values())
        sheet = Sheet(WIDTH, head + sum(heights) + above + 0.66 * len(groups) + legend_height(handles, WIDTH) + 0.1)
        heading(sheet, notes, 0.1)
        top = head
        for key, height in zip(groups, heights):
            top += TITLE_LINE * (len(titles[key]) - 1)
            axes = sheet.axes(left, top + 0.22, WIDTH - left - 0.75, height)
            draw(axes, groups[key], styles, names)
            axes.set_title("\n".join(titles[key]))
            top += height + 0.66
        sheet.legend(handles, top)
        return sheet.figure


def end_label(one):
    """The iteration's length; and the mean where the one that is drawn is not like it, for not every step communicates."""
    unlike = one.mean and abs(one.length / one.mean - 1) > 0.05
    return duration(one.length) + (f"\nmean {duration(one.mean)}" if unlike else "")


def shown_worker(lanes):
    """Which worker a panel shows, as the end of its title; "" where one stands for all."""
    ranks = sorted({one.rank for one in lanes if not one.alone})
    return f", worker {' or '.join(map(str, ranks))}" if ranks else ""


def grouped(lanes, styles):
    """{(panel, nodes): lanes in the order of the legend}."""
    order = {name: place for place, name in enumerate(styles)}
    groups = {}
    for one in lanes:
        groups.setdefault((one.panel, one.nodes), []).append(one)
    return {key: sorted(group, key=lambda one: order[one.series]) for key, group in groups.items()}


def legend_handles(lanes):
    used = {part.kind for one in lanes for part in one.compute}
    handles = [Patch(facecolor=color, label=text) for kind, (text, color) in PHASES.items() if kind in used]
    if any(part.own for one in lanes for part in one.channel):
        handles.append(Patch(facecolor=CHANNEL[0], label="messages (lower lane)"))
    if any(not part.own for one in lanes for part in one.channel):
        handles.append(Patch(facecolor=OTHER, label="messages of another iteration"))
    return handles


def draw(axes, lanes, styles, names, size=7):
    """Lanes from top to bottom on one time axis that starts with the iteration."""
    longest = max(one.length for one in lanes)
    factor, unit = time_axis(longest)
    for place, one in enumerate(lanes):
        spans = [(part.start * factor, (part.end - part.start) * factor) for part in one.compute]
        axes.broken_barh(spans, (place - 0.4, 0.46), facecolors=[PHASES[part.kind][1] for part in one.compute],
                         linewidth=0)
        spans = [(part.start * factor, (part.end - part.start) * factor) for part in one.channel]
        colors = [CHANNEL[index % 2] if part.own else OTHER for index, part in enumerate(one.channel)]
        axes.broken_barh(spans, (place + 0.1, 0.24), facecolors=colors, linewidth=0)
        axes.plot([one.length * factor] * 2, [place - 0.43, place + 0.38], color=style.INK, linewidth=0.9,
                  label="_end", solid_capstyle="butt", clip_on=False)
        axes.annotate(end_label(one), (one.length * factor, place - 0.03), (4, 0), fontsize=size,
                      textcoords="offset points", va="center", annotation_clip=False)
    axes.set_xlim(0, longest * factor)
    axes.set_ylim(len(lanes) - 0.5, -0.55)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel(f"time since the start of the iteration ({unit})")
    axes.grid(axis="x")
    name_rows(axes, [one.series for one in lanes], styles, names, size)
