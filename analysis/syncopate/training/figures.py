"""Still figures of a training: loss and error of each setting, against simulated time and against gradients."""

import re

import pandas
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

from syncopate.common import style
from syncopate.common.sheet import WIDTH, Sheet, legend_height, look, wrap
from syncopate.common.wording import counted, plain

HEIGHT = 2.3                # inches of a panel
BAND = 0.15                 # opacity
MOST = 1e30                 # larger losses are drawn here
AXES = (("seconds", "simulated hours", 1 / 3600), ("gradients", "gradients of all workers", 1))


def looks_of(study):
    """{series: Style}."""
    names = [one.name for one in study.entries]
    return style.styles(pandas.DataFrame({"series": [name.series for name in names], "schedule": [name.schedule for name in names]}))


def figures(study):
    """(name, figure) for each setting."""
    for setting in study.settings:
        name = "training" if len(study.settings) == 1 else f"training-{re.sub('[^A-Za-z0-9]+', '-', setting).strip('-')}"
        yield name, figure(study, setting)


def figure(study, setting):
    with look():
        looks, entries = looks_of(study), study.of(setting)
        shown_here = {one.name.series for one in entries}
        handles = [Line2D([], [], color=one.color, linestyle=one.dash, linewidth=1.4, label=series) for series, one in looks.items() if series in shown_here]
        title = f"{setting}: the small task {study.task}, {study.batches}, mean of {counted(study.seeds, 'seed')}"
        title += " and their band" * (study.seeds > 1)
        lines = wrap(title, 7.5, WIDTH - 0.2)
        top = 0.1 + 0.15 * len(lines) + 0.12
        sheet = Sheet(WIDTH, top + 2 * (HEIGHT + 0.55) + legend_height(handles, WIDTH) + 0.05)
        for number, line in enumerate(lines):
            sheet.text(0.1, 0.08 + 0.15 * number, line, color=style.QUIET)
        width = (WIDTH - 0.62 - 0.55 - 0.15) / 2
        for row, (measure, label) in enumerate((("losses", study.trainer.task.loss), ("accuracies", "test error"))):
            for column, (along, name, factor) in enumerate(AXES):
                axes = sheet.axes(0.62 + column * (width + 0.55), top + row * (HEIGHT + 0.55), width, HEIGHT)
                panel(axes, entries, looks, measure, along, factor, study.targets[setting])
                axes.set(xlabel=name, ylabel="" if column else label)
        sheet.legend(handles, top + 2 * (HEIGHT + 0.55))
        return sheet.figure


def panel(axes, entries, looks, measure, along, factor, target):
    is_error = measure == "accuracies"
    axes.set_yscale("log")
    for entry in entries:
        one, series = entry.summary, looks[entry.name.series]
        curve = getattr(one, measure)
        known = [number for number, value in enumerate(curve["mean"]) if value is not None]
        across = [getattr(one, along)[number] * factor for number in known]
        low, mean, high = ([shown(curve[key][number], is_error) for number in known] for key in ("low", "mean", "high"))
        axes.plot(across, mean, color=series.color, linestyle=series.dash, linewidth=1.2)
        axes.fill_between(across, low, high, color=series.color, alpha=BAND, linewidth=0)
    if target.is_accuracy == is_error:
        axes.axhline(shown(target.value, is_error), color=style.REFERENCE, linewidth=0.8, zorder=0)
    axes.set_xlim(left=0)
    numbers = FuncFormatter(lambda value, _: plain(value, 3))
    axes.yaxis.set_major_formatter(numbers)
    low, high = axes.get_ylim()
    if high > 10 * low:
        axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_formatter(numbers)
    axes.xaxis.set_major_formatter(numbers)
    axes.grid(axis="y")


def shown(value, is_error):
    """An accuracy as an error; both so that they have a place on a logarithmic axis."""
    return max(1 - value, 1e-4) if is_error else min(max(value, 1 / MOST), MOST)
