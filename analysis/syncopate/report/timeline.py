"""One iteration as lanes, and the figure that compares schedules on one time axis."""

import re
import statistics
from dataclasses import dataclass

from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from syncopate.common import style
from syncopate.common.sheet import WIDTH, Names, Sheet, legend_height, look, wrap
from syncopate.common.wording import counted, duration, time_axis
from syncopate.report.figures import NAMES, TITLE_LINE, heading, heading_height, name_rows
from syncopate.results import timeline_file

COMPUTE = 1       # the track on which a worker computes; all others are channels
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


def read_all(runs, frame, visit=lambda file: None):
    """(lanes of every timeline file, sentences about files that hold no whole measured iteration).

    Every other file is handed to `visit`, too, for it is too large to be kept.
    """
    found, skipped = [], []
    for file in timeline_file.read_all(runs, frame):
        one = lanes(file)
        if one:
            found.append(one)
            visit(file)
        else:
            skipped.append(f"{file.name}: no whole iteration inside the measured window; not drawn.")
    return found, skipped


def lanes(file):
    """The first whole iteration of median length inside the measured window of the first worker, or None."""
    steps = [one for one in file.events if one.category == "step"]
    process = min((one.process for one in steps), default=None)
    mine = [one for one in file.events if one.process == process]
    step = typical([one for one in steps if one.process == process], file.window)
    return None if step is None else lanes_of(mine, step, file.row, worker_of(file, process))


def worker_of(file, process):
    """The worker that a process of the file stands for: the number in the process's name, such as "rank 0"."""
    number = re.search(r"\d+", file.processes.get(process, ""))
    return int(number[0]) if number else process


def typical(steps, window):
    """The first step of median length among those that lie in the window as a whole; None if there is none."""
    slack = 1e-6 * max(abs(edge) for edge in window) + 1e-9
    whole = [one for one in steps if one.start >= window[0] - slack and one.end <= window[1] + slack and one.end > one.start]
    if not whole:
        return None
    lengths = [one.end - one.start for one in whole]
    median = statistics.median_low(lengths)
    return next(one for one, length in zip(whole, lengths) if length >= median - slack and length <= median + slack)


def lanes_of(events, step, row, rank):
    begin, end = step.start, step.end

    def inside(is_track, keep):
        return tuple(Slice(one.category, max(one.start, begin) - begin, min(one.end, end) - begin, one.iteration == step.iteration)
                     for one in events
                     if is_track(one.track) and keep(one.category) and one.end > begin and one.start < end)

    return Lanes(row["panel"], row["series"], int(row["nodes"]), rank, step.iteration, end - begin,
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
        titles = {(panel, nodes): wrap(f"{panel}, {counted(nodes, 'node')}{shown_worker(group)}", 8.5,
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
