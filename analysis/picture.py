"""One wide picture of a sweep for a web page: speedup, efficiency, and one iteration of each schedule.

Text is sized for a picture that is shown 900 pixels wide.
"""

import matplotlib
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

import figures
import style
import timeline
from style import Sheet, legend_height, look, text_width

WIDTH, TEXT = 9.0, 8.6      # inches, points
LARGE = {"xtick.labelsize": 8, "ytick.labelsize": 8, "axes.labelsize": 8.8, "axes.titlesize": 9.8}


def picture(frame, styles, notes, lanes):
    """The setting with the most timelines, else the first; without timelines, the split of the iteration time."""
    with look():
        matplotlib.rcParams.update(LARGE)
        frame, cut = figures.fewer(frame)
        notes = (notes[0], notes[1] + [cut] * bool(cut))
        groups = timeline.grouped([one for one in lanes if one.series in set(frame["series"])], styles)
        panel, nodes = max(groups, key=lambda key: (len(groups[key]), key[1]), default=(frame["panel"].iloc[0], None))
        rows = frame[frame["panel"] == panel]
        names = [series for series in styles if series in set(rows["series"])]
        bars = rows["nodes"].nunique() == 1
        top_height = 0.22 * len(names) + 0.1 if bars else 2.35
        handles = [figures.reference_handle()] if bars else figures.line_handles(names, styles)
        below = timeline.legend_handles(groups[panel, nodes]) if nodes else \
            [Patch(facecolor=color, label=text) for text, color in style.PARTS.values()]
        body = 0.3 * (len(groups[panel, nodes]) if nodes else len(names)) + 0.08
        draft = Sheet(WIDTH, 1)
        head = figures.heading(draft, notes, 0.15, 0.42, 8)
        first = head + 0.24
        second = first + top_height + 0.55 + legend_height(handles, WIDTH, TEXT) + 0.42
        sheet = Sheet(WIDTH, second + body + 0.55 + legend_height(below, WIDTH, TEXT) + 0.1)
        models = ", ".join(dict.fromkeys(rows["model"]))
        title = f"{models} on {panel}, {rows['choice'].iloc[0]}" if rows["choice"].nunique() == 1 else \
            f"Which schedule trains {models} fastest on {panel}?"
        sheet.text(0.15, 0.1, style.clip(title, 15, WIDTH - 0.3), fontsize=14, weight="bold")
        figures.heading(sheet, notes, 0.15, 0.42, 8)
        scaling_row(sheet, first, top_height, rows, names, styles, bars)
        sheet.legend(handles, first + top_height + 0.55, TEXT)
        left = min(2.2, max(text_width(name, TEXT) for name in names)) + 0.4
        axes = sheet.axes(left, second, WIDTH - left - 0.75, body)
        if nodes:
            timeline.draw(axes, groups[panel, nodes], styles, TEXT)
            axes.set_title(f"One iteration on {nodes} node{'s' if nodes > 1 else ''}")
        else:
            split(axes, rows[rows["nodes"] == rows["nodes"].max()], names, styles)
        sheet.legend(below, second + body + 0.55, TEXT)
        return sheet.figure


def scaling_row(sheet, top, height, rows, names, styles, bars):
    indent = min(2.2, max(text_width(name, TEXT) for name in names)) + 0.4 if bars else 0.62
    gap = 0.3 if bars else 0.78
    width = (WIDTH - indent - gap - 0.2) / 2
    for place, (column, label, title) in enumerate((
            ("speedup", "speedup over one worker", "Speedup"),
            ("efficiency", "efficiency (speedup / workers)", "Efficiency"))):
        axes = sheet.axes(indent + place * (width + gap), top, width, height)
        if bars:
            figures.scaling_bars(axes, rows, names, styles, column, rows, place == 0, TEXT)
            axes.set_xlabel(label)
        else:
            figures.scaling_lines(axes, rows, names, styles, column, width, figures.limits(rows, column))
            axes.set_ylabel(label)
        axes.set_title(title)


def split(axes, rows, names, styles):
    factor, unit = style.time_axis(rows["iteration_s"].max())
    figures.split_bars(axes, rows, names, factor, TEXT)
    nodes = rows["nodes"].iloc[0]
    axes.set_title(f"Iteration time on {nodes} node{'s' if nodes > 1 else ''}")
    axes.set_xlim(0, rows["iteration_s"].max() * factor)
    axes.set_ylim(len(names) - 0.45, -0.55)
    axes.xaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 2.5, 5, 10]))
    axes.set_yticks([])
    axes.grid(axis="x")
    axes.set_xlabel(f"iteration time ({unit})")
    figures.name_rows(axes, names, styles, size=TEXT)
