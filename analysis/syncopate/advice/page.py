"""The page of what `simctl advise` has found."""

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from syncopate.advice import result as naming
from syncopate.advice.page_data import columns, page_data
from syncopate.common import style
from syncopate.common.sheet import look, to_svg
from syncopate.common.wording import plain
from syncopate.web.template import fill_interactive

MOST = 40    # rows of a table that scripts do not fill
SCRIPTS = ("data", "numbers", "elements", "state", "theme", "legend", "candidates", "table", "start_advice")


def page(result):
    """The page as text."""
    known = {one["candidate"]: one for one in result["candidates"]}
    choice, runner_up = (known.get(result.get(key)) for key in ("choice", "runner_up"))
    deepest = [one for one in naming.best_first(result) if one["simulated_deepest"] and one["within_limits"] and "refusal" not in one]
    compared = [one for one in deepest if one["is_comparable"] and (result["objective"] != "pareto" or one["on_front"])]
    others = [one for one in deepest if "as_good_with_samples" in one]
    return fill_interactive(
        "advice.html", SCRIPTS, page_data(result),
        title=f"Advice: {result['name']}", result=result, choice=choice, runner_up=runner_up, compared=compared[:MOST], others=others[:MOST],
        cut=len(compared) > MOST or len(others) > MOST, most=MOST, has_risk=any("risk" in one for one in compared), has_costs=has_costs(result),
        naming=naming, most_saved=max([one["time_saved"] for one in result["decides"]] + [1e-9]), drawing=drawing(result), plain=plain,
        glossary=[(column.name, column.unit, column.meaning) for column in columns(result)])


def has_costs(result):
    return any(one["cost"] is not None for one in result["candidates"])


def drawing(result):
    """All candidates by time and cost, or by time and number of nodes, where no script draws them."""
    upwards = "cost" if has_costs(result) else "nodes"
    candidates = [one for one in result["candidates"] if one[upwards]]
    with look():
        figure = Figure(figsize=(7.2, 3.6), layout="constrained")
        axes = figure.subplots()

        def scatter(some, **how):
            axes.scatter([one["hours"] for one in some], [one[upwards] for one in some], **how)

        for comparable, color, name in ((False, style.WAITING, "other schedules"), (True, style.QUIET, "compared")):
            scatter([one for one in candidates if one["is_comparable"] == comparable], s=14, color=color, linewidths=0, label=name)
        scatter([one for one in candidates if one["on_front"] and one["is_comparable"]], s=60, facecolors="none", edgecolors=style.INK, label="best")
        axes.set(xscale="log", yscale="log", xlabel="hours", ylabel=upwards)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: plain(value, 3)))
            axis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
        axes.legend(frameon=False)
        return to_svg(figure)
