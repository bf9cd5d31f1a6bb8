"""What `simctl advise` has found: advice.json, read and checked, and its candidates in words."""

from errors import InputError
from labels import short
from results import is_number, read_json, shown
from units import plain

OBJECTIVES = ("time", "cost", "pareto")


def is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


KEYS = {        # of the file: what each holds
    "name": ("a text", lambda value: isinstance(value, str)),
    "objective": (f"one of {', '.join(OBJECTIVES)}", lambda value: value in OBJECTIVES),
    "samples": ("a number > 0", lambda value: is_number(value) and value > 0),
    "samples_factor": ("an object of numbers", lambda value: isinstance(value, dict) and all(map(is_number, value.values()))),
    "decides": ("a list of changes", lambda value: isinstance(value, list) and all(map(is_change, value))),
    "simulated": ("an object of numbers", lambda value: isinstance(value, dict) and all(map(is_number, value.values()))),
    "notes": ("a list of texts", lambda value: isinstance(value, list) and all(isinstance(text, str) for text in value)),
    "left_out": ("a list of texts", lambda value: isinstance(value, list) and all(isinstance(text, str) for text in value)),
    "candidates": ("a list that is not empty", lambda value: isinstance(value, list) and value),
}
POSITIVE = ("a number > 0", lambda value: is_number(value) and value > 0)
FLAG = ("true or false", lambda value: isinstance(value, bool))
OF_CANDIDATES = {
    "candidate": ("a number >= 0", is_count),
    "cluster": ("a text", lambda value: isinstance(value, str)),
    "nodes": ("a number >= 1", lambda value: is_count(value) and value > 0),
    "schedule": ("an object with a name", lambda value: isinstance(value, dict) and isinstance(value.get("name"), str)),
    "fidelity": ("a text", lambda value: isinstance(value, str)),
    "iteration_s": POSITIVE,
    "throughput_samples_per_s": POSITIVE,
    "staleness_mean": ("a number >= 0", lambda value: is_number(value) and value >= 0),
    "hours": POSITIVE,
    "cost": ("a number >= 0 or null", lambda value: value is None or is_number(value) and value >= 0),
    "samples_factor": ("a number > 0 or null", lambda value: value is None or is_number(value) and value > 0),
    "paid_nodes": ("a number >= 1", lambda value: is_count(value) and value > 0),
    "is_sgd": FLAG, "is_comparable": FLAG, "within_limits": FLAG, "simulated_deepest": FLAG, "on_front": FLAG,
}
RISK = ("mean", "worst", "worst_regret", "mean_regret")
OF_SOME_CANDIDATES = {
    "as_good_with_samples": ("a number > 0 or null", lambda value: value is None or is_number(value) and value > 0),
    "risk": (f"an object with {', '.join(RISK)}, each a number or null", lambda value: isinstance(value, dict) and all(key in value and (value[key] is None or is_number(value[key])) for key in RISK)),
}


def is_change(value):
    """Whether it says what is changed how, and the part of the time that it saves."""
    return isinstance(value, dict) and isinstance(value.get("factor"), str) and is_number(value.get("time_saved")) and \
        (isinstance(value.get("change"), str) or is_number(value.get("change")))


def read(folder):
    """DIR/advice.json. Raises InputError."""
    path, again = folder / "advice.json", f"write it again: simctl advise ADVICE.json -o {folder}"
    result = read_json(path, again)

    def need(where, found, rules):
        for key, (rule, holds) in rules.items():
            if not holds(found.get(key)):
                raise InputError(f"{path}: {where}/{key}: expected {rule}, got {shown(found.get(key))}; {again}")

    need("", result, {"format": ('"advice-result/1"', lambda value: value == "advice-result/1"), **KEYS})
    for place, one in enumerate(result["candidates"]):
        where = f"/candidates/{place}"
        if not isinstance(one, dict):
            raise InputError(f"{path}: {where}: expected an object, got {shown(one)}; {again}")
        need(where, one, {**OF_CANDIDATES, **{key: rule for key, rule in OF_SOME_CANDIDATES.items() if key in one}})
    return result


def title(one):
    """Of a candidate: mg-wfbp on 16 nodes of 25gbe."""
    return f"{schedule(one)} on {one['nodes']} node{'s' if one['nodes'] > 1 else ''} of {one['cluster']}"


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
