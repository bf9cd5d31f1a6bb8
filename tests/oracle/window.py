"""The measured window, and the columns of results.csv that follow from what happened in it."""

import dataclasses
import itertools

from compute import TIE, union
from oracle import overlap, percentile


@dataclasses.dataclass
class Step:
    start: float
    end: float
    posted: int = 0
    payload: float = 0.0
    staleness: list = dataclasses.field(default_factory=list)  # of each update that others' gradients are in
    sent: float | None = None  # bytes that leave a rank, where that is known
    entered: float = 1.0  # share of its gradient that the model got
    computed: list | None = None  # intervals, where not all gradients enter


@dataclasses.dataclass
class Run:
    """What a family reports, all lists but `moving` by rank."""
    warmup: int  # whole cycles
    measured: int
    compute: float  # undisturbed seconds of a step
    workers_each: int  # GPUs that one rank stands for
    steps: list
    begins: list  # of what `iterations` counts
    blocked: list  # intervals
    moving: list  # intervals in which a blocked rank is exposed to communication, else it waits
    exposed: list  # intervals that are exposed communication whatever moves
    communication: list  # intervals in which the rank's own channel is busy
    memory: dict = dataclasses.field(default_factory=dict)  # columns


def whole(count, cycle):
    return -(-count // cycle) * cycle


def iterations(point, cycle=1):
    """(warm-up, measured) in whole cycles."""
    counts = point.get("iterations", {})
    return whole(counts.get("warmup", 2), cycle), whole(counts.get("measured", 10), cycle)


def window(begins, warmup, measured):
    """(opening, close), or None as long as they are not known."""
    if any(len(dates) <= warmup for dates in begins):
        return None
    opening = max(dates[warmup] for dates in begins)
    inside = [[date for date in dates if date >= opening * (1 - TIE)] for dates in begins]
    closes = [dates[measured] for dates in inside if len(dates) > measured]
    return (opening, min(closes)) if closes else None


def staying(workers, lists):
    """Those of the ranks that are there all the time, which make the window."""
    return [one for worker, one in zip(workers, lists) if not worker.absences]


def covered_by(workers, begins, starts, warmup, measured):
    """Has every rank begun a step after the close, if it is there?"""
    begins, there = staying(workers, begins), [dates for worker, dates in zip(workers, starts) if not worker.away]
    return covered(begins, there, warmup, measured)


def covered(begins, starts, warmup, measured):
    if max(map(len, begins)) <= max(warmup, measured):
        return False
    edges = window(begins, warmup, measured)
    return edges is not None and all(dates[-1] >= edges[1] * (1 - TIE) for dates in starts)


def seconds_inside(intervals, edges):
    return sum(overlap(interval, edges) for interval in intervals)


def common(first, second):
    """Intervals in both, each sorted and disjoint."""
    result, i, j = [], 0, 0
    while i < len(first) and j < len(second):
        begin, end = max(first[i][0], second[j][0]), min(first[i][1], second[j][1])
        if end > begin:
            result.append((begin, end))
        if first[i][1] < second[j][1]:
            i += 1
        else:
            j += 1
    return result


def in_steps(intervals, steps, edges):
    """Seconds of a rank in its steps, each step's times the share of it that lies in the window."""
    total, first = 0.0, 0
    for interval in intervals:
        while first < len(steps) and steps[first].end <= interval[0]:
            first += 1
        for place in range(first, len(steps)):
            its = steps[place].start, steps[place].end
            if its[0] >= interval[1]:
                break
            total += overlap(interval, its) * overlap(its, edges) / (its[1] - its[0])
    return total


def measured(run, edges):
    """(step, the share of it that lies in the window), rank by rank."""
    for step in itertools.chain.from_iterable(run.steps):
        share = overlap((step.start, step.end), edges) / (step.end - step.start)
        if share > TIE:
            yield step, share


def sent(run, edges):
    """Bytes that leave a rank for each gradient."""
    steps = [(step, share) for step, share in measured(run, edges) if step.sent is not None]
    return {"sent_bytes_per_worker": sum(share * step.sent for step, share in steps) / sum(share for _, share in steps)} if steps else {}


def wasted(run, edges):
    """Share of what was computed."""
    computed = [(share * sum(end - begin for begin, end in step.computed), step.entered) for step, share in measured(run, edges) if step.computed is not None]
    return {"wasted_share": sum(seconds * (1 - entered) for seconds, entered in computed) / sum(seconds for seconds, _ in computed)} if computed else {}


def columns(run):
    edges = opening, close = window(run.begins, run.warmup, run.measured)
    early = TIE * close
    gradients = posted = payload = updates = stale = 0.0
    durations, worst = [], 0.0
    for step, share in measured(run, edges):
        gradients += share * step.entered
        posted += share * step.posted
        payload += share * step.payload
        updates += share * len(step.staleness)
        stale += share * sum(step.staleness)
        worst = max([worst, *step.staleness])
        if opening - early <= step.start < close - early:
            durations += [step.end - step.start] * run.workers_each
    moving = union(run.moving)
    exposed = sum(in_steps(common(union(blocked), moving), steps, edges) + in_steps(union(own), steps, edges)
                  for blocked, own, steps in zip(run.blocked, run.exposed, run.steps)) / gradients
    communication = sum(seconds_inside(union(intervals), edges) for intervals in run.communication) / gradients
    iteration = (close - opening) * len(run.steps) / gradients
    return {
        "iteration_s": iteration, "iteration_p50_s": percentile(durations, 0.50), "iteration_p95_s": percentile(durations, 0.95),
        "compute_s": run.compute, "wait_s": iteration - run.compute - exposed, "exposed_communication_s": exposed,
        "communication_s": communication, "efficiency": run.compute / iteration,
        "communications_per_iteration": posted / gradients, "bytes_per_worker_per_iteration": payload / gradients,
        "staleness_mean": stale / updates if updates else 0.0, "staleness_max": worst, "measured_iterations": run.measured,
        **sent(run, edges), **wasted(run, edges), **run.memory,
    }
