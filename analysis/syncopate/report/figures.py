"""The figures of a sweep, as pure functions from labelled rows to a matplotlib Figure.

`frame` is what labels.label returns, `styles` what style.styles returns for it, `notes` is (subject, warnings).
"""

import math

from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator
from matplotlib.transforms import ScaledTranslation, blended_transform_factory

from syncopate.common import style
from syncopate.common.sheet import NARROW, WIDTH, Names, Sheet, legend_height, look, text_width, wrap
from syncopate.common.style import PARTS
from syncopate.common.wording import counted, significant, time_axis

ROW_GAP = 0.44              # inches: title and tick labels of a small panel
TITLE_LINE = 0.15           # inches: a further line of a panel's title
NAMES = 1.9                 # inches: names left of rows are wrapped to this width
MAX_SERIES = 24             # more lines or bars than this cannot be told apart
PLAIN = FuncFormatter(lambda value, _: f"{value:g}")


def fewer(frame):
    """(the rows of the MAX_SERIES fastest series, a sentence that says so or None)."""
    median = frame.groupby("series", sort=False)["iteration_s"].median().sort_values(kind="stable")
    if len(median) <= MAX_SERIES:
        return frame, None
    kept = set(median.index[:MAX_SERIES])
    return frame[frame["series"].isin(kept)], f"Shown: the {MAX_SERIES} fastest of {len(median)} series."


def heading(sheet, notes, left=0.1, top=0.06, size=7.0):
    """Subject and warnings; returns where they end, in inches from the top."""
    for text, color, weight in [(notes[0], style.QUIET, "normal"),
                                *((text, style.VERMILLION, "bold") for text in notes[1])]:
        for line in wrap(text, size, sheet.width - left - 0.1, weight):
            sheet.text(left, top, line, fontsize=size, color=color, weight=weight)
            top += 0.0207 * size
    return top + 0.07


def heading_height(notes, width):
    return heading(Sheet(width, 1), notes)


def iteration_time(frame, styles, notes):
    """Stacked bars: one small panel per setting and number of nodes, one bar per schedule."""
    with look():
        frame, cut = fewer(frame)
        if cut:
            notes = (notes[0], notes[1] + [cut])
        blocks = [(panel, rows, sorted(rows["nodes"].unique())) for panel, rows in frame.groupby("panel", sort=False)]
        one_each = all(len(nodes) == 1 for _, _, nodes in blocks)
        if one_each:
            blocks = [(None, frame, [(panel, nodes[0]) for panel, _, nodes in blocks])]
        names = [series for series in styles if series in set(frame["series"])]
        labels = Names(names, 7, NAMES)
        label = labels.width + 0.28
        bar = max(0.15 if len(names) > 2 else 0.2, labels.row)
        body = bar * len(names) + 0.06
        handles = [Patch(facecolor=color, label=text) for text, color in PARTS.values()]
        full = NARROW if all(len(cells) == 1 for _, _, cells in blocks) else WIDTH
        head = heading_height(notes, full)
        heights, titles = [], []
        for panel, _, cells in blocks:
            columns = columns_for(len(cells))
            titles.append(cell_titles(cells, (full - 0.1 - label) / columns))
            gap = row_gap(titles[-1])
            panel_lines = wrap(panel, 8.5, full - 0.2, "bold") if panel else []
            heights.append(0.16 * len(panel_lines) + -(-len(cells) // columns) * (body + gap) + 0.26)
        sheet = Sheet(full, head + sum(heights) + legend_height(handles, full) + 0.1)
        heading(sheet, notes)
        factor, unit = time_axis(frame["iteration_s"].max())
        top = head
        for (panel, rows, cells), height, title in zip(blocks, heights, titles):
            panel_lines = wrap(panel, 8.5, full - 0.2, "bold") if panel else []
            for place, line in enumerate(panel_lines):
                sheet.text(0.1, top + 0.16 * place, line, weight="bold", fontsize=8.5)
            split_block(sheet, top + 0.16 * len(panel_lines), rows, cells, title, labels, styles, body, factor, unit)
            top += height
        sheet.legend(handles, top)
        return sheet.figure


def columns_for(count):
    """Panels per row: five at most, rows evenly filled."""
    return -(-count // -(-count // 5)) if count > 5 else count


def cell_titles(cells, width):
    """The title of each small panel, wrapped to `width` inches with some air: nodes, or a setting with its nodes."""
    found = []
    for cell in cells:
        title = f"{cell[0]}, {cell[1]}" if isinstance(cell, tuple) else str(cell)
        title += " node" if title.split()[-1] == "1" else " nodes"
        found.append(wrap(title, 7.5, width - 0.1))
    return found


def row_gap(titles):
    return ROW_GAP + 0.13 * (max(map(len, titles)) - 1)


def split_block(sheet, top, rows, cells, titles, labels, styles, body, factor, unit):
    """The small panels of one setting. They share the time axis unless the shortest could then not be read."""
    columns = columns_for(len(cells))
    gap = 0.2
    names, label = list(labels.texts), labels.width + 0.28
    above = row_gap(titles) - ROW_GAP
    width = (sheet.width - 0.1 - label - gap * columns) / columns
    pick = [rows[(rows["panel"] == cell[0]) & (rows["nodes"] == cell[1])] if isinstance(cell, tuple)
            else rows[rows["nodes"] == cell] for cell in cells]
    longest = [part["iteration_s"].max() * factor for part in pick]
    shared = max(longest) <= 4 * min(longest)
    tail = text_width("0000", 6.3) + 0.06
    for place, part in enumerate(pick):
        row, column = divmod(place, columns)
        axes = sheet.axes(0.1 + label + column * (width + gap), 
                          top + 0.2 + above + row * (body + ROW_GAP + above), width, body)
        limit = (max(longest) if shared else longest[place]) * width / max(0.3, width - tail)
        split_bars(axes, part, names, factor)
        axes.set_title("\n".join(titles[place]), fontsize=7.5, weight="normal", pad=3)
        axes.set_xlim(0, limit)
        axes.set_ylim(len(names) - 0.45, -0.55)
        axes.xaxis.set_major_locator(MaxNLocator(4 if width < 2 else 6, steps=[1, 2, 2.5, 5, 10]))
        axes.xaxis.set_major_formatter(PLAIN)
        axes.tick_params(axis="x", labelsize=6.3, pad=2)
        axes.grid(axis="x")
        axes.set_yticks([])
        if column == 0:
            name_rows(axes, names, styles, labels)
    rows_of_panels = -(-len(cells) // columns)
    span = columns * (width + gap) - gap
    sheet.text(0.1 + label + span / 2, top + rows_of_panels * (body + ROW_GAP + above) - 0.02,
               f"iteration time ({unit})" + ("" if shared else "; each panel has its own scale"),
               ha="center", fontsize=7.5)


def split_bars(axes, rows, names, factor, size=6.3):
    """Stacked bars at 0, 1, ... in the order of `names`, each with its total at the end."""
    place = {name: index for index, name in enumerate(names)}
    where = [place[series] for series in rows["series"]]
    left = [0.0] * len(rows)
    faster = rows["wait_s"].clip(upper=0)      # below 0: compute was shorter than undisturbed
    for column, (text, color) in PARTS.items():
        widths = rows[column] + faster if column == "compute_s" else rows[column].clip(lower=0)
        widths = list(widths * factor)
        axes.barh(where, widths, left=left, height=0.74, color=color, label=text, linewidth=0)
        left = [start + width for start, width in zip(left, widths)]
    shift = ScaledTranslation(0.03, 0, axes.figure.dpi_scale_trans)
    for y, total in zip(where, rows["iteration_s"] * factor):
        axes.text(total, y, significant(total), va="center_baseline", fontsize=size, color=style.INK,
                  transform=axes.transData + shift)


def name_rows(axes, names, styles, labels, size=7):
    """The series' names left of the axes, each with the colour and marker that it has in the line figures."""
    blend = blended_transform_factory(axes.transAxes, axes.transData)
    for y, name in enumerate(names):
        mark = ScaledTranslation(-0.1, 0, axes.figure.dpi_scale_trans)
        text = ScaledTranslation(-0.19, 0, axes.figure.dpi_scale_trans)
        axes.plot([0], [y], marker=styles[name].marker, color=styles[name].color, linestyle="none",
                  markersize=4 * style.MARKER_SCALE.get(styles[name].marker, 1), clip_on=False,
                  transform=blend + mark, label="_mark")
        axes.text(0, y, labels.texts[name], ha="right", fontsize=size,
                  va="center" if "\n" in labels.texts[name] else "center_baseline", linespacing=1.1,
                  transform=blend + text)


def speedup(frame, styles, notes):
    """Speedup over one worker against nodes, one panel per setting."""
    return scaling(frame, styles, notes, "speedup", "speedup over one worker")


def efficiency(frame, styles, notes):
    """Efficiency (speedup per worker) against nodes, one panel per setting."""
    return scaling(frame, styles, notes, "efficiency", "efficiency (speedup / workers)")


def scaling(frame, styles, notes, column, label):
    with look():
        frame, cut = fewer(frame)
        if cut:
            notes = (notes[0], notes[1] + [cut])
        panels = list(frame.groupby("panel", sort=False))
        lines = any(rows["nodes"].nunique() > 1 for _, rows in panels)
        names = [series for series in styles if series in set(frame["series"])]
        columns = {1: 1, 2: 2, 4: 2}.get(len(panels), 3)
        full = NARROW if columns == 1 else WIDTH
        labels = Names(names, 7, NAMES)
        left = 0.55 if lines else labels.width + 0.38
        gap = 0.22
        width = (full - left - gap * (columns - 1) - 0.12) / columns
        height = (2.75 if columns < 3 else 2.1) if lines else max(0.2, labels.row) * len(names) + 0.1
        titles = [wrap(panel if lines else with_nodes(panel, rows), 8.5, width, "bold") for panel, rows in panels]
        above = TITLE_LINE * (max(map(len, titles)) - 1)
        pitch = above + height + 0.66
        handles = line_handles(names, styles) if lines else [reference_handle()]
        head = heading_height(notes, full)
        rows_of_panels = -(-len(panels) // columns)
        sheet = Sheet(full, head + rows_of_panels * pitch + legend_height(handles, full) + 0.12)
        heading(sheet, notes)
        for place, (_, rows) in enumerate(panels):
            row, number = divmod(place, columns)
            axes = sheet.axes(left + number * (width + gap), head + 0.22 + above + row * pitch, width, height)
            if lines:
                scaling_lines(axes, rows, names, styles, column, width, limits(frame, column))
                axes.set_ylabel(label if number == 0 else "")
                axes.tick_params(labelleft=number == 0)
            else:
                scaling_bars(axes, rows, labels, styles, column, frame, number == 0)
                axes.set_xlabel(label)
            axes.set_title("\n".join(titles[place]))
        sheet.legend(handles, head + rows_of_panels * pitch + 0.02)
        return sheet.figure


def with_nodes(panel, rows):
    return f"{panel}, {counted(rows['nodes'].iloc[0], 'node')}"


def reference_handle():
    return Line2D([], [], color=style.REFERENCE, linewidth=1, label="linear scaling")


def line_handles(names, styles):
    return [Line2D([], [], label=name, **line_style(index, len(names), styles[name]))
            for index, name in enumerate(names)] + [reference_handle()]


def line_style(index, count, look_of):
    """Earlier lines are wider and their markers larger, so that a line upon another leaves both in sight."""
    rest = 1 - index / max(1, count - 1) if count > 1 else 0.5
    return {"color": look_of.color, "linestyle": look_of.dash, "linewidth": 1.2 + 1.0 * rest,
            "marker": look_of.marker, "markersize": (4.3 + 2.0 * rest) * style.MARKER_SCALE.get(look_of.marker, 1),
            "markeredgecolor": "white", "markeredgewidth": 0.4,
            "zorder": 3 + index / max(1, count), "dash_capstyle": "butt"}


def limits(frame, column):
    """The y range that all panels share."""
    if column == "efficiency":
        return 0, 1.05 * max(1.0, frame["efficiency"].max())
    low = min([value for value in frame["speedup"] if value > 0] + list(frame["workers"]))
    high = max(frame["speedup"].max(), frame["workers"].max())
    return 2 ** (math.log2(low) - 0.3), 2 ** (math.log2(high) + 0.3)


def scaling_lines(axes, rows, names, styles, column, width, range_y):
    """One panel: a line per series over a log2 node axis, and linear scaling as a thin grey line."""
    nodes = sorted(rows["nodes"].unique())
    sizes = rows.groupby("nodes")["workers"].first()
    ideal = [1.0] * len(nodes) if column == "efficiency" else [sizes[size] for size in nodes]
    axes.plot(nodes, ideal, color=style.REFERENCE, linewidth=1, zorder=2, label="linear scaling")
    for index, name in enumerate(names):
        series = rows[rows["series"] == name].sort_values("nodes")
        if len(series):
            axes.plot(series["nodes"], series[column], label=name, **line_style(index, len(names), styles[name]))
    axes.set_xscale("log", base=2)
    axes.set_xlim(nodes[0] / 2 ** 0.3, nodes[-1] * 2 ** 0.3)
    ticks(axes.xaxis, nodes, width)
    if column == "speedup":
        axes.set_yscale("log", base=2)
        low, high = (math.log2(limit) for limit in range_y)
        step = 1 if high - low <= 12 else 2
        ticks(axes.yaxis, [2.0 ** power for power in range(math.ceil(low), math.floor(high) + 1, step)], 99)
    else:
        axes.yaxis.set_major_locator(MaxNLocator(6, steps=[2, 10]))
        axes.yaxis.set_major_formatter(PLAIN)
    axes.set_ylim(*range_y)
    each = set(rows["workers"] / rows["nodes"])
    workers = next(iter(each)) if len(each) == 1 else 1
    axes.set_xlabel("nodes" if workers == 1 else f"nodes ({workers:g} workers each)")
    axes.grid()


def ticks(axis, values, room):
    """Plain tick labels at `values`, every second or third of them where `room` inches are too few for all."""
    if len(values) > 12:
        values = [value for value in values if math.log2(value).is_integer()] or values
    step = 1
    while sum(text_width(f"{value:g}", 7) + 0.07 for value in values[::step]) > room and step < len(values):
        step += 1
    axis.set_major_locator(FixedLocator(values[::step]))
    axis.set_major_formatter(PLAIN)
    axis.set_minor_locator(NullLocator())


def scaling_bars(axes, rows, labels, styles, column, frame, first, size=7):
    """One panel where there is one number of nodes: bars instead of a line through one point."""
    names = list(labels.texts)
    ideal = 1.0 if column == "efficiency" else rows["workers"].iloc[0]
    axes.axvline(ideal, color=style.REFERENCE, linewidth=1, zorder=2, label="linear scaling")
    for y, name in enumerate(names):
        for value in rows[rows["series"] == name][column]:
            axes.barh([y], [value], height=0.68, color=styles[name].color, label=name, linewidth=0, zorder=3)
            axes.text(value, y, significant(value), va="center_baseline", fontsize=size - 0.5, zorder=4,
                      transform=axes.transData + ScaledTranslation(0.04, 0, axes.figure.dpi_scale_trans),
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6})
    top = max(frame[column].max(), 1.0 if column == "efficiency" else frame["workers"].max())
    axes.set_xlim(0, top * 1.18)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(PLAIN)
    axes.set_yticks([])
    axes.grid(axis="x")
    if first:
        name_rows(axes, names, styles, labels, size)
