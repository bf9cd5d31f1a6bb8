"""One wide picture of a sweep for a web page: speedup, efficiency, and one iteration of each schedule.

Text is sized for a picture that is shown 900 pixels wide.
"""

import matplotlib
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from syncopate.common import style
from syncopate.common.sheet import Names, Sheet, legend_height, look, wrap
from syncopate.common.wording import counted, time_axis
from syncopate.report import chart, figures, measures, timeline

WIDTH, TEXT = 9.0, 8.6      # inches, points
NAMES = 2.2                 # inches: names left of rows are wrapped to this width
LARGE = {"xtick.labelsize": 8, "ytick.labelsize": 8, "axes.labelsize": 8.8, "axes.titlesize": 9.8}


def chosen(frame, styles, lanes):
    """(panel, nodes, lanes) that the picture shows: with the most timelines, else the first panel, None and []."""
    groups = timeline.grouped([one for one in lanes if one.series in set(frame["series"])], styles)
    panel, nodes = max(groups, key=lambda key: (len(groups[key]), key[1]), default=(frame["panel"].iloc[0], None))
    return panel, nodes, groups.get((panel, nodes), [])


def picture(frame, styles, notes, lanes):
    """The setting with the most timelines, else the first; without timelines, the split of the iteration time."""
    with look():
        matplotlib.rcParams.update(LARGE)
        frame, notes = figures.prepared(measures.with_values(frame, "iteration_s"), notes)
        panel, nodes, shown = chosen(frame, styles, lanes)
        rows = frame[frame["panel"] == panel]
        names = [series for series in styles if series in set(rows["series"])]
        bars = rows["nodes"].nunique() == 1
        labels = Names(names, TEXT, NAMES)
        top_height = max(0.22, labels.row) * len(names) + 0.1 if bars else 2.35
        handles = [figures.reference_handle()] if bars else figures.line_handles(names, styles)
        below = timeline.legend_handles(shown) if nodes else \
            [Patch(facecolor=color, label=text) for text, color in style.PARTS.values()]
        body = max(0.3, labels.row) * len(shown or names) + 0.08
        setting = rows["setting"].iloc[0] if rows["setting"].nunique() == 1 else panel
        models = ", ".join(dict.fromkeys(rows["model"]))
        title = f"{models} on {setting}, {rows['choice'].iloc[0]}" if rows["choice"].nunique() == 1 else \
            f"Which schedule trains {models} fastest on {setting}?"
        title = wrap(title, 14, WIDTH - 0.3, "bold")
        below_title = 0.42 + 0.26 * (len(title) - 1)
        draft = Sheet(WIDTH, 1)
        head = figures.heading(draft, notes, 0.15, below_title, 8)
        first = head + 0.24
        second = first + top_height + 0.55 + legend_height(handles, WIDTH, TEXT) + 0.42
        sheet = Sheet(WIDTH, second + body + 0.55 + legend_height(below, WIDTH, TEXT) + 0.1)
        for place, line in enumerate(title):
            sheet.text(0.15, 0.1 + 0.26 * place, line, fontsize=14, weight="bold")
        figures.heading(sheet, notes, 0.15, below_title, 8)
        scaling_row(sheet, first, top_height, rows, labels, styles, bars)
        sheet.legend(handles, first + top_height + 0.55, TEXT)
        left = labels.width + 0.4
        axes = sheet.axes(left, second, WIDTH - left - 0.75, body)
        if nodes:
            timeline.draw(axes, shown, styles, labels, TEXT)
            axes.set_title(f"One iteration on {counted(nodes, 'node')}{timeline.shown_worker(shown)}")
        else:
            split(axes, rows[rows["nodes"] == rows["nodes"].max()], labels, styles)
        sheet.legend(below, second + body + 0.55, TEXT)
        return sheet.figure


def scaling_row(sheet, top, height, rows, labels, styles, bars):
    indent = labels.width + 0.4 if bars else 0.62
    gap = 0.3 if bars else 0.78
    width = (WIDTH - indent - gap - 0.2) / 2
    for place, (column, label, title) in enumerate((
            ("speedup", "speedup over one worker", "Speedup"),
            ("efficiency", "efficiency (speedup / workers)", "Efficiency"))):
        axes = sheet.axes(indent + place * (width + gap), top, width, height)
        rows, along = measures.with_values(rows, column), measures.axis((), rows, measures.NODES)
        if bars:
            chart.bars(axes, chart.cells(rows, list(labels.texts)), styles, rows, column, width, size=TEXT)
            axes.set_ylim(len(labels.texts) - 0.4, -0.6)
            axes.set_xlabel(label)
            if place == 0:
                figures.name_rows(axes, list(labels.texts), styles, labels, TEXT)
        else:
            chart.lines(axes, rows, list(labels.texts), styles, column, along, width, chart.range_of(rows, column, along))
            axes.set_ylabel(label)
        axes.set_title(title)


def split(axes, rows, labels, styles):
    names = list(labels.texts)
    factor, unit = time_axis(rows["iteration_s"].max())
    nodes = rows["nodes"].iloc[0]
    axes.set_title(f"Iteration time on {counted(nodes, 'node')}")
    axes.set_xlim(0, max(rows["iteration_s"].max(), *chart.finite(rows["high"]), 0) * factor)
    figures.split_bars(axes, rows, names, factor, TEXT)
    axes.set_ylim(len(names) - 0.45, -0.55)
    axes.xaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 2.5, 5, 10]))
    axes.set_yticks([])
    axes.grid(axis="x")
    axes.set_xlabel(f"iteration time ({unit})")
    figures.name_rows(axes, names, styles, labels, TEXT)
