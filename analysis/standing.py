"""How a choice stands to the fastest of its rivals: by the rule of scenarios/UNCERTAINTY.md.

simctl has the same rule in sim/output/standing.cpp; a test holds both to it.
"""

import math
import statistics
from dataclasses import dataclass

from errors import InputError
from links import is_number
from results import shown

SAME = 0.005                                            # a relative difference on which no choice should rest
EQUAL, UNDECIDED, SLOWER = "equal", "undecided", "slower"


@dataclass(frozen=True)
class Mean:
    """The mean iteration time of a point and how sure it is; times in seconds."""

    iteration_s: float
    half_width: float     # of its 95% interval; 0 where there is none
    replicates: tuple     # the iteration time of each, where there are several; the first has `seed`, the next one more
    seed: object
    one_draw: bool        # drawn at random, and nobody knows how sure it is


def standing(one, fastest):
    """EQUAL, UNDECIDED or SLOWER."""
    difference = one.iteration_s - fastest.iteration_s
    if difference <= SAME * fastest.iteration_s:
        return EQUAL
    return UNDECIDED if difference <= half_width_of_difference(one, fastest) else SLOWER


def half_width_of_difference(one, other):
    """Half of the 95% interval of the mean difference. Replicates are paired: each one meets the same seed in both."""
    if len(one.replicates) < 2 or len(one.replicates) != len(other.replicates) or one.seed != other.seed:
        return math.hypot(one.half_width, other.half_width)
    spread, half_width = max((statistics.stdev(its.replicates), its.half_width) for its in (one, other))
    differences = [a - b for a, b in zip(one.replicates, other.replicates)]
    return half_width / spread * statistics.stdev(differences) if spread > 0 else 0.0  # Student's t and the root are the same


def read_means(runs, frame):
    """The Mean of every row of `frame`, in its order. Raises InputError."""
    found = {(number, item["point"]): read(run, place, item)
             for number, run in enumerate(runs) for place, item in enumerate(run.about["points"])}
    unknown = ((), None, False)
    return [Mean(row["iteration_s"], 0.0 if math.isnan(row["iteration_high_s"]) else row["iteration_high_s"] - row["iteration_s"],
                 *found.get((row["run"], row["point"]), unknown)) for row in frame.to_dict("records")]


def read(run, place, item):
    """(replicates, seed, one_draw) of one point of results.json."""
    path, again = run.folder / "results.json", f"run the scenario again: simctl run SCENARIO -o {run.folder}"

    def need(holds, where, rule, value):
        if not holds:
            raise InputError(f"{path}: /points/{place}/{where}: expected {rule}, got {shown(value)}; {again}")

    times, one_draw, sweep = item.get("replicates_iteration_s", []), item.get("one_draw", False), item.get("sweep", {})
    need(isinstance(times, list), "replicates_iteration_s", "a list", times)
    for number, time in enumerate(times):
        need(is_number(time) and time > 0, f"replicates_iteration_s/{number}", "a number > 0", time)
    need(isinstance(one_draw, bool), "one_draw", "true or false", one_draw)
    need(isinstance(sweep, dict), "sweep", "an object", sweep)
    return tuple(times), sweep.get("/seed", run.about["seed"]), one_draw
