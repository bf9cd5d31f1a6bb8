"""The answer: in every setting and at every size, which choice trains fastest, and by how much."""

import math
from dataclasses import dataclass

from units import significant

SAME = 0.005     # choices whose time exceeds the fastest's by no more than this fraction win with it
EQUAL = 1e-9     # relative difference below which two iteration times are one
WITHIN = f"within {100 * SAME:g} %"
UNSURE = f"{WITHIN} or their intervals"


@dataclass(frozen=True)
class Winner:
    """The fastest of one setting and size. Ratios are the other's iteration time divided by the winner's."""

    setting: str
    nodes: int
    workers: int
    names: tuple          # the fastest first; more than one when they tie (within SAME)
    iteration_s: float
    efficiency: float
    compared: int         # choices that were compared
    runner_up: tuple      # (names, ratio), or None; several names where their times are equal
    over_wfbp: float      # ratio, or None where there is no wfbp or it won
    staleness: tuple      # mean, in steps, of each of `names`; 0 in synchronous schedules
    within: str           # how near those are that tie


def winners(frame):
    """One Winner per (setting, nodes, workers), in order of first appearance of the setting, then by size."""
    found = []
    for setting, rows in frame.groupby("setting", sort=False):
        for (nodes, workers), group in rows.groupby(["nodes", "workers"]):
            found.append(winner(setting, nodes, workers, group))
    return found


def winner(setting, nodes, workers, group):
    ranked = group.sort_values("iteration_s", kind="stable")
    best = ranked.iloc[0]
    low = ranked["iteration_low_s"].fillna(ranked["iteration_s"])
    high = best["iteration_s"] if math.isnan(best["iteration_high_s"]) else best["iteration_high_s"]
    near = ranked["iteration_s"] <= best["iteration_s"] * (1 + SAME)
    tied = near | (low <= high)
    rest = ranked[~tied]
    runner_up = None
    if len(rest):
        second = rest["iteration_s"].iloc[0]
        equal = rest["iteration_s"] <= second * (1 + EQUAL)
        runner_up = (tuple(rest[equal]["choice"]), second / best["iteration_s"])
    wfbp = rest[rest["schedule"] == "wfbp"]
    over_wfbp = wfbp["iteration_s"].min() / best["iteration_s"] if len(wfbp) else None
    if (ranked[tied]["schedule"] == "wfbp").any():
        over_wfbp = None
    return Winner(setting, int(nodes), int(workers), tuple(ranked[tied]["choice"]), best["iteration_s"],
                  best["efficiency"], len(group), runner_up, over_wfbp, tuple(ranked[tied]["staleness_mean"]),
                  WITHIN if (near == tied).all() else UNSURE)


def sentences(found):
    """One sentence per setting that names its winners, with the sizes at which each wins."""
    lines = []
    for setting in dict.fromkeys(one.setting for one in found):
        here = [one for one in found if one.setting == setting]
        if max(one.compared for one in here) < 2:
            continue
        spans = []
        for one in here:
            if spans and set(spans[-1][0].names) == set(one.names):
                spans[-1].append(one)
            else:
                spans.append([one])
        parts = [f"{listed([with_staleness(name, span) for name in span[0].names])} {verb(span)} {size(span[0].nodes, span[-1].nodes)}"
                 for span in spans]
        lines.append((setting, "; ".join(parts)))
    return lines


def verb(span):
    if len(span[0].names) == 1:
        return "is fastest"
    return f"tie ({UNSURE if any(one.within == UNSURE for one in span) else WITHIN})"


def with_staleness(name, span):
    """A schedule is never called fastest without what that may cost: "asgd (staleness 3.5 to 7)"."""
    steps = [dict(zip(one.names, one.staleness))[name] for one in span]
    if max(steps) <= 0:
        return name
    least, most = significant(min(steps), 2), significant(max(steps), 2)
    return f"{name} (staleness {least if least == most else f'{least} to {most}'})"


def listed(names):
    return " and ".join([", ".join(names[:-1])] * (len(names) > 1) + [names[-1]])


def size(first, last):
    if first == last:
        return f"at {first} node{'s' if first != 1 else ''}"
    return f"from {first} to {last} nodes"
