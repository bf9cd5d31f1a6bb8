"""The answer: in every setting and at every size, which choice trains fastest, and by how much."""

from dataclasses import dataclass

SAME = 0.005     # choices whose time exceeds the fastest's by no more than this fraction win with it
EQUAL = 1e-9     # relative difference below which two iteration times are one
WITHIN = f"within {100 * SAME:g} %"


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
    tied = ranked["iteration_s"] <= best["iteration_s"] * (1 + SAME)
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
                  best["efficiency"], len(group), runner_up, over_wfbp)


def sentences(found):
    """One sentence per setting that names its winners, with the sizes at which each wins."""
    lines = []
    for setting in dict.fromkeys(one.setting for one in found):
        here = [one for one in found if one.setting == setting]
        if max(one.compared for one in here) < 2:
            continue
        spans = []
        for one in here:
            if spans and set(spans[-1][0]) == set(one.names):
                spans[-1][2] = one.nodes
            else:
                spans.append([one.names, one.nodes, one.nodes])
        parts = [f"{listed(names)} {f'tie ({WITHIN})' if len(names) > 1 else 'is fastest'} {size(first, last)}"
                 for names, first, last in spans]
        lines.append((setting, "; ".join(parts)))
    return lines


def listed(names):
    return " and ".join([", ".join(names[:-1])] * (len(names) > 1) + [names[-1]])


def size(first, last):
    if first == last:
        return f"at {first} node{'s' if first != 1 else ''}"
    return f"from {first} to {last} nodes"
