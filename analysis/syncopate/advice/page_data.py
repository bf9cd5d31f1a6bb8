"""All that the scripts of an advice's page show."""

from dataclasses import dataclass
from typing import Callable

from syncopate.advice.result import best_first, parameters, rank
from syncopate.common import style
from syncopate.web import theme
from syncopate.web.embedded import column


@dataclass(frozen=True)
class Column:
    """A column of the table of all candidates."""

    name: str
    unit: str             # share: a part of 1
    meaning: str
    value: Callable       # of a candidate and the result; None or "" where there is none
    said: str = ""        # its name in a tooltip, if it stands in one
    is_text: bool = False
    brief: bool = True    # it stands in the short table, too


def of(key):
    return lambda one, result: one.get(key)


def of_risk(key):
    return lambda one, result: one["risk"][key] if "risk" in one else None


def yes_or_no(holds):
    return lambda one, result: "yes" if holds(one, result) else "no"


COLUMNS = (
    Column("candidate", "", "its number in advice.json", of("candidate"), brief=False),
    Column("rank", "", "the choice, the runner-up, or best: practically as good as the choice, or better and staler", rank, is_text=True),
    Column("schedule", "", "the schedule's name", lambda one, result: one["schedule"]["name"], is_text=True),
    Column("parameters", "", "the schedule's parameters", lambda one, result: parameters(one), is_text=True),
    Column("cluster", "", "the cluster's name", of("cluster"), is_text=True),
    Column("nodes", "", "nodes of it that train", of("nodes")),
    Column("paid_nodes", "", "nodes that cost something: servers on nodes of their own, too", of("paid_nodes"), brief=False),
    Column("hours", "h", "time to train on all samples", of("hours"), "time"),
    Column("cost", "price units", "of that time, in the currency of the prices", of("cost"), "cost"),
    Column("iteration_s", "s", "mean time of a gradient step", of("iteration_s"), "iteration"),
    Column("throughput_samples_per_s", "samples/s", "of all workers", of("throughput_samples_per_s"), "throughput", brief=False),
    Column("staleness_mean", "steps", "mean age of others' gradients when an update applies them; 0 in synchronous schedules", of("staleness_mean"), "staleness"),
    Column("samples_factor", "", "how many times the samples it needs, as the advice was told; 1 of synchronous SGD", of("samples_factor"), "needs samples ×"),
    Column("as_good_with_samples", "", "how many times the samples it could need and still be as good as what is compared", of("as_good_with_samples"),
           "as good with samples ×"),
    Column("mean", "", "the hours, or the cost where that is the objective, in the mean of the other worlds", of_risk("mean"), "in the mean of other worlds"),
    Column("worst", "", "the same in the worst of them", of_risk("worst"), brief=False),
    Column("worst_regret", "share", "how much worse than the best it is in that of the other worlds where it does worst", of_risk("worst_regret"), "worst regret"),
    Column("mean_regret", "share", "the same, mean of all worlds", of_risk("mean_regret"), "mean regret"),
    Column("fidelity", "", "the deepest that it was simulated in", of("fidelity"), "fidelity", is_text=True),
    Column("compared", "", "by the objective: it trains as synchronous SGD does, or it is known how many samples it needs", yes_or_no(of("is_comparable")), "compared", is_text=True, brief=False),
    Column("within_limits", "", "of staleness, budget and deadline", yes_or_no(of("within_limits")), "within the limits", is_text=True, brief=False),
)


def page_data(result):
    """A dict; its rows are the candidates, the best first."""
    candidates = best_first(result)
    places = {one["candidate"]: place for place, one in enumerate(candidates)}
    return {
        "columns": [column(one.name, [one.value(candidate, result) for candidate in candidates], one.unit, one.is_text, one.brief) | {"said": one.said}
                    for one in columns(result)],
        "groups": groups(candidates),
        "choice": places.get(result.get("choice")),
        "runner_up": places.get(result.get("runner_up")),
    }


def columns(result):
    """Those that any candidate has something in."""
    return [one for one in COLUMNS if any(one.value(candidate, result) not in (None, "") for candidate in result["candidates"])]


def groups(candidates):
    """What the chart can tell apart by colour: a dict each; `series_of` has the place in `series` of every candidate."""
    compared = {True: "compared", False: "others"}
    found = [group("schedule", [one["schedule"]["name"] for one in candidates]), group("cluster", [one["cluster"] for one in candidates]),
             group("what is compared", [compared[one["is_comparable"]] for one in candidates],
                   {"compared": (style.QUIET, "o"), "others": (style.REFERENCE, "^")})]
    return [one for place, one in enumerate(found) if place == 0 or len(one["series"]) > 1]


def group(name, members, looks=None):
    looks = looks or style.rows(set(members))
    order = [*style.SCHEDULES, *sorted(set(members))]
    series = sorted(set(members), key=order.index)
    return {"name": name, "series": [{"name": one, **theme.colors(looks[one][0]), "path": theme.PATHS[looks[one][1]]} for one in series],
            "series_of": [series.index(one) for one in members]}
