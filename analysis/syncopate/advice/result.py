"""What `simctl advise` has found: advice.json, read and checked, and its candidates in words."""

from syncopate.common.reading import Checker, is_count, is_number, read_json
from syncopate.common.wording import counted, plain
from syncopate.results.labels import short


def is_text(value):
    return isinstance(value, str)


def is_change(value):
    """Whether it says what is changed how, and the part of the time that it saves."""
    return isinstance(value, dict) and is_text(value.get("factor")) and is_number(value.get("time_saved")) and \
        (is_text(value.get("change")) or is_number(value.get("change")))


def or_null(rule):
    text, holds = rule
    return f"{text} or null", lambda value: value is None or holds(value)


# Rules: what a value is, in words, and whether one is that.
OBJECTIVES, RISK = ("time", "cost", "pareto"), ("mean", "worst", "worst_regret", "mean_regret")
TEXT = ("a text", is_text)
TEXTS = ("a list of texts", lambda value: isinstance(value, list) and all(map(is_text, value)))
NUMBERS = ("an object of numbers", lambda value: isinstance(value, dict) and all(map(is_number, value.values())))
POSITIVE = ("a number > 0", lambda value: is_number(value) and value > 0)
NOT_NEGATIVE = ("a number >= 0", lambda value: is_number(value) and value >= 0)
COUNT = ("a number >= 1", lambda value: is_count(value, 1))
FLAG = ("true or false", lambda value: isinstance(value, bool))

OF_FILE = {
    "format": ('"advice-result/1"', lambda value: value == "advice-result/1"),
    "name": TEXT, "samples": POSITIVE, "samples_factor": NUMBERS, "simulated": NUMBERS, "notes": TEXTS, "left_out": TEXTS,
    "objective": (f"one of {', '.join(OBJECTIVES)}", lambda value: value in OBJECTIVES),
    "decides": ("a list of changes", lambda value: isinstance(value, list) and all(map(is_change, value))),
    "candidates": ("a list that is not empty", lambda value: isinstance(value, list) and value),
}
OF_CANDIDATES = {
    "candidate": ("a number >= 0", is_count), "cluster": TEXT, "nodes": COUNT, "paid_nodes": COUNT, "fidelity": TEXT,
    "schedule": ("an object with a name", lambda value: isinstance(value, dict) and is_text(value.get("name"))),
    "iteration_s": POSITIVE, "throughput_samples_per_s": POSITIVE, "hours": POSITIVE, "staleness_mean": NOT_NEGATIVE,
    "cost": or_null(NOT_NEGATIVE), "samples_factor": or_null(POSITIVE),
    "is_sgd": FLAG, "is_comparable": FLAG, "within_limits": FLAG, "simulated_deepest": FLAG, "on_front": FLAG,
}
OF_SOME_CANDIDATES = {
    "as_good_with_samples": or_null(POSITIVE),
    "risk": (f"an object with {', '.join(RISK)}, each a number or null", lambda value: isinstance(value, dict) and
             all(key in value and (value[key] is None or is_number(value[key])) for key in RISK)),
}


def read(folder):
    """DIR/advice.json. Raises InputError."""
    path, again = folder / "advice.json", f"write it again: simctl advise ADVICE.json -o {folder}"
    result, checker = read_json(path, again), Checker(path, again)

    def check(where, found, rules):
        for key, (rule, holds) in rules.items():
            checker.need(holds(found.get(key)), f"{where}/{key}", rule, found.get(key))

    check("", result, OF_FILE)
    for where, one in checker.objects(result["candidates"], "/candidates"):
        check(where, one, OF_CANDIDATES | {key: rule for key, rule in OF_SOME_CANDIDATES.items() if key in one})
    return result


def title(one):
    """Of a candidate: mg-wfbp on 16 nodes of 25gbe."""
    return f"{schedule(one)} on {counted(one['nodes'], 'node')} of {one['cluster']}"


def schedule(one):
    return f"{one['schedule']['name']} {parameters(one)}".rstrip()


def parameters(one):
    return " ".join(f"{key}={short(value)}" for key, value in one["schedule"].items() if key != "name")


def figures(one):
    return f"{plain(one['hours'], 4)} h" + ("" if one["cost"] is None else f", cost {plain(one['cost'], 4)}")


def change(value):
    """+10 %, −10 %, or the limit that it names."""
    if isinstance(value, str):
        return value
    return f"+{plain(100 * (value - 1), 3)} %" if value >= 1 else f"−{plain(100 * (1 - value), 3)} %"


def best_first(result):
    """The candidates by rank and objective; those that nobody can choose, for want of knowledge or by the limits, last."""
    by = "cost" if result["objective"] == "cost" else "hours"

    def order(one):
        can_be_chosen = one["is_comparable"] and one["within_limits"]
        return not can_be_chosen, RANKS.index(rank(one, result)), one[by] is None, one[by]

    return sorted(result["candidates"], key=order)


RANKS = ("choice", "runner-up", "best", "")


def rank(one, result):
    """What the advice says of a candidate."""
    names = {result.get("runner_up"): "runner-up", result.get("choice"): "choice"}
    return names.get(one["candidate"], "best" if one["on_front"] else "")
