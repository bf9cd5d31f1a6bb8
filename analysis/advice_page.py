"""The page of what `simctl advise` has found."""

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

import style
from errors import InputError
from results import read_json, shown
from template import fill
from units import plain

MOST = 40    # rows of a table


def read(folder):
    """DIR/advice.json. Raises InputError."""
    path, again = folder / "advice.json", f"write it again: simctl advise ADVICE.json -o {folder}"
    result = read_json(path, again)
    if result.get("format") != "advice-result/1":
        raise InputError(f'{path}: /format: expected "advice-result/1", got {shown(result.get("format"))}; {again}')
    for key in ("name", "objective", "candidates", "decides", "notes", "left_out", "simulated"):
        if key not in result:
            raise InputError(f'{path}: expected a key "{key}"; {again}')
    if not result["candidates"]:
        raise InputError(f"{path}: /candidates: expected some; {again}")
    return result


def title(one):
    """Of a candidate: mg-wfbp on 16 nodes of 25gbe."""
    return f"{schedule(one)} on {one['nodes']} node{'s' if one['nodes'] > 1 else ''} of {one['cluster']}"


def schedule(one):
    rest = [f"{key}={plain(value) if isinstance(value, float) else value}" for key, value in one["schedule"].items() if key != "name"]
    return " ".join([one["schedule"]["name"], *rest])


def figures(one):
    return f"{plain(one['hours'], 4)} h" + ("" if one["cost"] is None else f", cost {plain(one['cost'], 4)}")


def draw(result):
    """All candidates by time and cost, or by time and number of nodes."""
    candidates = result["candidates"]
    priced = all(one["cost"] is not None for one in candidates)
    with style.look():
        figure = Figure(figsize=(7.2, 3.6), layout="constrained")
        axes = figure.subplots()
        for comparable, color, name in ((False, style.WAITING, "other schedules"), (True, style.BLUE, "compared")):
            some = [one for one in candidates if one["is_comparable"] == comparable]
            axes.scatter([one["hours"] for one in some], [one["cost"] if priced else one["nodes"] for one in some], s=14, color=color, linewidths=0, label=name)
        best = [one for one in candidates if one["on_front"] and one["is_comparable"]]
        axes.scatter([one["hours"] for one in best], [one["cost"] if priced else one["nodes"] for one in best], s=60, facecolors="none",
                     edgecolors=style.VERMILLION, label="best")
        axes.set(xscale="log", yscale="log", xlabel="hours", ylabel="cost" if priced else "nodes")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: plain(value, 3)))
            axis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
        axes.legend(frameon=False)
        return style.to_bytes(figure, "svg").decode()


def page(result):
    """The page as text."""
    known = {one["candidate"]: one for one in result["candidates"]}
    choice, runner_up = (known.get(result.get(key)) for key in ("choice", "runner_up"))
    by = {"cost": lambda one: one["cost"], "time": lambda one: one["hours"], "pareto": lambda one: one["hours"]}[result["objective"]]
    deepest = [one for one in result["candidates"] if one["simulated_deepest"] and one["within_limits"]]
    compared = sorted((one for one in deepest if one["is_comparable"] and (result["objective"] != "pareto" or one["on_front"])), key=by)
    others = sorted((one for one in deepest if "as_good_with_samples" in one), key=by)
    return fill("advice.html", title=f"Advice: {result['name']}", result=result, choice=choice, runner_up=runner_up, compared=compared[:MOST], others=others[:MOST],
                cut=len(compared) > MOST or len(others) > MOST, most=MOST, has_risk=any("risk" in one for one in compared), drawing=draw(result), naming=title, schedule=schedule,
                figures=figures, plain=plain)
