"""The answer: in every setting and at every size, which choice trains fastest, and by how much."""

from dataclasses import dataclass
from itertools import groupby

from syncopate.common.wording import counted, duration, listed, plain
from syncopate.report.standing import SAME, SLOWER, UNDECIDED, read_means, standing
from syncopate.results.labels import records

COLUMNS = ["setting", "nodes", "workers", "choice", "schedule", "iteration_s", "efficiency", "staleness_mean"]
EXACT = 1e-9     # relative difference below which two iteration times are one
WITHIN = f"within {100 * SAME:g} %"
UNSURE = "cannot be told apart"


@dataclass(frozen=True)
class Winner:
    """The fastest of one setting and size. Ratios are the other's iteration time divided by the winner's."""

    setting: str
    nodes: int
    workers: int
    names: tuple          # the fastest first; more than one when they tie, or cannot be told apart
    iteration_s: float
    efficiency: float
    compared: int         # choices that were compared
    runner_up: tuple      # (names, ratio), or None; several names where their times are equal
    over_wfbp: float      # ratio, or None where there is no wfbp or it won
    staleness: tuple      # mean, in steps, of each of `names`; 0 in synchronous schedules
    within: str           # why there are several of `names`
    means: tuple          # the Mean of each of `names`
    unsure: bool          # of some of those that were compared it is unknown how sure their means are


def winners(runs, frame):
    """One Winner per (setting, nodes, workers), in order of first appearance of the setting, then by size. Raises InputError."""
    settings = {}       # {setting: {size: rows}}
    for row, mean in zip(records(frame, COLUMNS), read_means(runs, frame)):
        settings.setdefault(row["setting"], {}).setdefault((row["nodes"], row["workers"]), []).append(row | {"mean": mean})
    return [winner(setting, *size, sizes[size]) for setting, sizes in settings.items() for size in sorted(sizes)]


def winner(setting, nodes, workers, rows):
    ranked = sorted(rows, key=lambda row: row["iteration_s"])
    best, stands = ranked[0], [standing(row["mean"], ranked[0]["mean"]) for row in ranked]
    won, rest = ([row for row, stand in zip(ranked, stands) if (stand == SLOWER) == is_slower] for is_slower in (False, True))
    runner_up = over_wfbp = None
    if rest:
        second = rest[0]["iteration_s"]
        runner_up = tuple(row["choice"] for row in rest if row["iteration_s"] <= second * (1 + EXACT)), second / best["iteration_s"]
    wfbp = [row for row in rest if row["schedule"] == "wfbp"]
    if wfbp and all(row["schedule"] != "wfbp" for row in won):
        over_wfbp = wfbp[0]["iteration_s"] / best["iteration_s"]
    return Winner(setting, nodes, workers, tuple(row["choice"] for row in won), best["iteration_s"], best["efficiency"], len(rows), runner_up,
                  over_wfbp, tuple(row["staleness_mean"] for row in won), UNSURE if UNDECIDED in stands else WITHIN,
                  tuple(row["mean"] for row in won), any(row["mean"].unsure for row in rows))


def sentences(found):
    """(setting, sentence) of each setting with rivals: its winners, with the sizes at which each wins."""
    lines = []
    for setting in dict.fromkeys(one.setting for one in found):
        here = [one for one in found if one.setting == setting]
        most = max(one.compared for one in here)
        if most > 1:
            spans = [list(span) for _, span in groupby(here, kind)]
            parts = [f"{listed([with_staleness(name, span) for name in span[0].names])} {verb(span[0])} {sizes(span)}{rivals(span[0], most)}"
                     for span in spans]
            lines.append((setting, "; ".join(parts)))
    return lines


def kind(one):
    """What winners have in common that one part of a sentence names."""
    return set(one.names), one.compared, verb(one)


def verb(one):
    unsure = " by so few iterations" if one.unsure else ""
    if len(one.names) == 1:
        return f"is fastest{unsure}"
    return f"{UNSURE}{unsure}" if one.within == UNSURE else f"tie ({one.within}){unsure}"


def rivals(one, most):
    """How few were compared, where others are missing."""
    return f" (of {one.compared})" if one.compared < most else ""


def with_staleness(name, span):
    """A schedule is never called fastest without what that may cost: "asgd (staleness 3.5 to 7)"."""
    steps = [dict(zip(one.names, one.staleness))[name] for one in span]
    if max(steps) <= 0:
        return name
    least, most = plain(min(steps), 2), plain(max(steps), 2)
    return f"{name} (staleness {least if least == most else f'{least} to {most}'})"


def sizes(span):
    """The sizes of winners; where these cannot be told apart at one size, their times, too."""
    first, last = span[0], span[-1]
    if first is not last:
        return f"from {first.nodes} to {last.nodes} nodes"
    times = f" ({listed([time(mean) for mean in first.means])})" if first.within == UNSURE else ""
    return f"at {counted(first.nodes, 'node')}{times}"


def time(mean):
    """115 ms ± 5.2 %."""
    return duration(mean.iteration_s) + (f" ± {plain(100 * mean.half_width / mean.iteration_s, 2)} %" if mean.half_width else "")
