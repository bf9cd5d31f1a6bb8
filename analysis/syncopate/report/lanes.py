"""One iteration of a timeline file as lanes: what a worker computes, and what its channel carries."""

import re
import statistics
from dataclasses import dataclass

from syncopate.common import style
from syncopate.results import timeline_file

COMPUTE = 1       # the track on which a worker computes; all others are channels
PHASES = {"forward": ("forward", style.FORWARD), "backward": ("backward", style.COMPUTE), "update": ("update", style.UPDATE),
          "wait": ("waiting for other workers", style.WAITING), "exposed": ("exposed communication", style.COMMUNICATION)}


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
