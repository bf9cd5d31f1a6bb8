"""How a choice stands to the fastest of its rivals, by the rule of scenarios/UNCERTAINTY.md.

simctl has the same rule in sim/output/standing.cpp, and a test holds both to it. results.json has the sentences that follow from it, but
not how each point stands, which the report's table needs, nor can it compare points of several folders.
"""

import math
import statistics
from dataclasses import dataclass

from syncopate.results.folder import of_points

SAME = 0.005                                            # a relative difference on which no choice should rest
EQUAL, UNDECIDED, SLOWER = "equal", "undecided", "slower"


@dataclass(frozen=True)
class Mean:
    """The mean iteration time of a point and how sure it is; times in seconds."""

    iteration_s: float
    half_width: float     # of its 95% interval; 0 where there is none
    replicates: tuple     # the iteration time of each, where there are several; the first has `seed`, the next one more
    seed: object
    unsure: bool          # too few iterations are measured to say how sure it is
    missed: frozenset = frozenset()  # the scripted events that its window leaves out


def standing(one, fastest):
    """EQUAL, UNDECIDED or SLOWER."""
    difference = one.iteration_s - fastest.iteration_s
    if difference <= SAME * fastest.iteration_s:
        return EQUAL
    return UNDECIDED if may_be_equal(one, fastest) else SLOWER


def may_be_equal(one, fastest):
    """Whether the 95% interval of how much slower `one` is contains nothing. Replicates are paired: each one meets the same seed in both.

    Else the ratio is judged, on a logarithmic scale, on which an interval wider than its mean does not reach below 0.
    """
    if one.unsure or fastest.unsure or one.missed != fastest.missed:
        return True
    if len(one.replicates) < 2 or len(one.replicates) != len(fastest.replicates) or one.seed != fastest.seed:
        relative = [its.half_width / its.iteration_s for its in (one, fastest)]
        return math.log(one.iteration_s / fastest.iteration_s) <= math.hypot(*relative)
    spread, half_width = max((statistics.stdev(its.replicates), its.half_width) for its in (one, fastest))
    differences = [a - b for a, b in zip(one.replicates, fastest.replicates)]
    # Student's t and the root are the same for each.
    return one.iteration_s - fastest.iteration_s <= (half_width / spread * statistics.stdev(differences) if spread > 0 else 0.0)


def read_means(runs, frame):
    """The Mean of every row of `frame`, in its order. Raises InputError."""
    found = of_points(runs, read)
    means = []
    for run, point, seconds, high in zip(frame["run"], frame["point"], frame["iteration_s"], frame["iteration_high_s"]):
        replicates, seed, unsure, missed = found.get((run, point), ((), None, False, frozenset()))
        means.append(Mean(seconds, 0.0 if math.isnan(high) else high - seconds, replicates, runs[run].about["seed"] if seed is None else seed, unsure, missed))
    return means


def read(checker, where, item):
    """(replicates, the swept seed or None, unsure, missed events) of a point of results.json."""
    replicates, unsure = item.get("replicates_iteration_s", []), item.get("unsure", False)
    for place, seconds in enumerate(checker.list(replicates, f"{where}/replicates_iteration_s")):
        checker.positive(seconds, f"{where}/replicates_iteration_s/{place}")
    checker.need(isinstance(unsure, bool), f"{where}/unsure", "true or false", unsure)
    missed = set()
    for place, event in enumerate(checker.list(item.get("events_outside_window", []), f"{where}/events_outside_window")):
        checker.object(event, f"{where}/events_outside_window/{place}")
        missed.add(tuple(str(event.get(key)) for key in ("what", "at_s", "count")))
    return tuple(replicates), checker.object(item.get("sweep", {}), f"{where}/sweep").get("/seed"), unsure, frozenset(missed)
