"""The figures of a sweep, as pure functions from labelled rows to a matplotlib Figure.

`frame` is what labels.label returns, `styles` what style.styles returns for it, `notes` is (subject, warnings).
"""

from contextlib import contextmanager
from dataclasses import dataclass

import matplotlib
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import ScaledTranslation

from syncopate.common import style
from syncopate.common.sheet import NARROW, WIDTH, Names, Sheet, legend_height, look, text_width, wrap
from syncopate.common.style import PARTS
from syncopate.common.wording import counted, significant, time_axis
from syncopate.report import chart, measures
from syncopate.report.chart import PLAIN, name_rows, whisker

ROW_GAP = 0.44              # inches: title and tick labels of a small panel
TITLE_LINE = 0.15           # inches: a further line of a panel's title
NAMES = 1.9                 # inches: names left of rows are wrapped to this width
MAX_SERIES = 24             # more lines or bars than this cannot be told apart
SMALL = 6.0                 # points: notes below a figure
FIXED = {"axes.titlesize": 8, "axes.titleweight": "normal", "axes.labelsize": 7.5, "legend.fontsize": 7}     # at a width that is given


@dataclass(frozen=True)
class Page:
    """How a figure has to look for where it is printed: `width` in inches (None: as wide as it needs), whether it has notes below, its font."""

    width: float = None
    notes: bool = True
    font: str = "sans"

    @contextmanager
    def look(self):
        with look(self.font):
            if self.width:
                matplotlib.rcParams.update(FIXED)
            yield

    @property
    def scale(self):
        """Of the widths of lines and markers."""
        return 0.7 if self.width else 1.0

    def value(self, size=6.3):
        """Points of the numbers at bars."""
        return 7 if self.width else size

    def title(self):
        """How titles are written, as Figure.text takes it."""
        return {"fontsize": 8.0, "weight": "normal"} if self.width else {"fontsize": 8.5, "weight": "bold"}

    def title_lines(self, text, width):
        """A title as lines of at most so many inches."""
        return wrap(text, self.title()["fontsize"], width, self.title()["weight"]) if text else []

    def names(self, width):
        """Inches that names left of rows have on a figure of that width."""
        return min(NAMES, 0.36 * width)


def fewer(frame):
    """(the rows of the MAX_SERIES fastest series, a sentence that says so or None)."""
    median = frame.groupby("series", sort=False)["iteration_s"].median().sort_values(kind="stable")
    if len(median) <= MAX_SERIES:
        return frame, None
    kept = set(median.index[:MAX_SERIES])
    return frame[frame["series"].isin(kept)], f"Shown: the {MAX_SERIES} fastest of {len(median)} series."


def heading(sheet, notes, left=0.1, top=0.06, size=7.0):
    """Subject and remarks, in plain grey; returns where they end, in inches from the top."""
    for text in (notes[0], *notes[1]):
        for line in wrap(text, size, sheet.width - left - 0.1):
            sheet.text(left, top, line, fontsize=size, color=style.QUIET)
            top += 0.0207 * size
    return top + 0.07


def heading_height(notes, width):
    return heading(Sheet(width, 1), notes)


def notes_height(notes, width, page):
    """Inches that notes take below a figure."""
    return heading(Sheet(width, 1), notes, 0.1, 0, SMALL) if page.notes else 0.0


def iteration_time(frame, styles, notes, page=Page()):
    """Stacked bars: one small panel per setting and number of nodes, one bar per schedule."""
    with page.look():
        frame, notes = prepared(measures.with_values(frame, "iteration_s"), notes)
        blocks = [(panel, rows, sorted(rows["nodes"].unique())) for panel, rows in frame.groupby("panel", sort=False)]
        one_each = all(len(nodes) == 1 for _, _, nodes in blocks)
        if one_each:
            blocks = [(None, frame, [(panel, nodes[0]) for panel, _, nodes in blocks])]
        names = [series for series in styles if series in set(frame["series"])]
        full = page.width or (NARROW if all(len(cells) == 1 for _, _, cells in blocks) else WIDTH)
        labels = Names(names, 7, page.names(full))
        label = labels.width + 0.28
        bar = max(0.15 if len(names) > 2 else 0.2, labels.row)
        body = bar * len(names) + 0.06
        handles = [Patch(facecolor=color, label=text) for text, color in PARTS.values()]
        heights, titles, panel_titles = [], [], []
        for panel, _, cells in blocks:
            columns = columns_for(len(cells), full - label)
            titles.append(cell_titles(cells, (full - 0.1 - label) / columns))
            gap = row_gap(titles[-1])
            panel_titles.append(page.title_lines(panel, full - 0.2))
            heights.append(0.16 * len(panel_titles[-1]) + -(-len(cells) // columns) * (body + gap) + 0.26)
        below = 0.08 + sum(heights) + legend_height(handles, full)
        sheet = Sheet(full, below + 0.1 + notes_height(notes, full, page))
        factor, unit = time_axis(frame["iteration_s"].max())
        top = 0.08
        for (_, rows, cells), height, title, lines in zip(blocks, heights, titles, panel_titles):
            for place, line in enumerate(lines):
                sheet.text(0.1, top + 0.16 * place, line, **page.title())
            split_block(sheet, top + 0.16 * len(lines), rows, cells, title, labels, styles, body, factor, unit, page.value())
            top += height
        sheet.legend(handles, top, matplotlib.rcParams["legend.fontsize"])
        if page.notes:
            heading(sheet, notes, 0.1, below + 0.1, SMALL)
        return sheet.figure


def prepared(frame, notes):
    """(the rows that a figure shows, what it says of them)."""
    frame, cut = fewer(frame)
    remarks = measures.band_remarks(frame) + [cut] * bool(cut)
    return frame, (notes[0], notes[1] + remarks)


def columns_for(count, room=WIDTH):
    """Panels per row: five at most, as many as have 0.9 inches of `room`, rows evenly filled."""
    most = max(1, min(5, int(room / 0.9)))
    return -(-count // -(-count // most))


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


def split_block(sheet, top, rows, cells, titles, labels, styles, body, factor, unit, size):
    """The small panels of one setting. They share the time axis unless the shortest could then not be read."""
    names, label = list(labels.texts), labels.width + 0.28
    columns = columns_for(len(cells), sheet.width - label)
    gap = 0.2
    above = row_gap(titles) - ROW_GAP
    width = (sheet.width - 0.1 - label - gap * columns) / columns
    pick = [rows[(rows["panel"] == cell[0]) & (rows["nodes"] == cell[1])] if isinstance(cell, tuple)
            else rows[rows["nodes"] == cell] for cell in cells]
    longest = [max(part["iteration_s"].max(), *chart.finite(part["high"]), 0) * factor for part in pick]
    shared = max(longest) <= 4 * min(longest)
    tail = text_width("0000", size) + 0.06
    for place, part in enumerate(pick):
        row, column = divmod(place, columns)
        axes = sheet.axes(0.1 + label + column * (width + gap), 
                          top + 0.2 + above + row * (body + ROW_GAP + above), width, body)
        limit = (max(longest) if shared else longest[place]) * width / max(0.3, width - tail)
        axes.set_xlim(0, limit)
        split_bars(axes, part, names, factor, size)
        axes.set_title("\n".join(titles[place]), fontsize=7.5, weight="normal", pad=3)
        axes.set_ylim(len(names) - 0.45, -0.55)
        axes.xaxis.set_major_locator(MaxNLocator(max(1, min(4 if width < 2 else 6, int(width / 0.4))), steps=[1, 2, 2.5, 5, 10]))
        axes.xaxis.set_major_formatter(PLAIN)
        axes.tick_params(axis="x", labelsize=size, pad=2)
        axes.grid(axis="x")
        axes.set_yticks([])
        if column == 0:
            name_rows(axes, names, styles, labels)
    rows_of_panels = -(-len(cells) // columns)
    span = columns * (width + gap) - gap
    text = f"iteration time ({unit})" + ("" if shared else "; each panel has its own scale")
    room = text_width(text, 7.5) / 2 + 0.05
    sheet.text(max(room, min(0.1 + label + span / 2, sheet.width - room)), top + rows_of_panels * (body + ROW_GAP + above) - 0.02, text,
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
    for y, total, low, high in zip(where, rows["iteration_s"] * factor, rows["low"] * factor, rows["high"] * factor):
        axes.text(whisker(axes, total, low, high, y), y, significant(total), va="center_baseline", fontsize=size, color=style.INK,
                  transform=axes.transData + shift)


def speedup(frame, styles, notes, along=None, page=Page()):
    """Speedup over one worker against nodes or the Axis `along`, one panel per setting."""
    return curves(frame, styles, notes, "speedup", along, page)


def efficiency(frame, styles, notes, along=None, page=Page()):
    """Efficiency (speedup per worker) likewise."""
    return curves(frame, styles, notes, "efficiency", along, page)


def curves(frame, styles, notes, column, along=None, page=Page()):
    """Any column likewise: lines over numbers, bars over names and where there is one number. `frame` is of labels.label_by."""
    with page.look():
        along = along or measures.axis((), frame, measures.NODES)
        is_lines = along.numeric and frame.groupby("panel")["along"].nunique().max() > 1
        frame, notes = prepared(measures.with_values(frame, column), notes)
        panels = list(frame.groupby("panel", sort=False))
        names = [series for series in styles if series in set(frame["series"])]
        grouped = not is_lines and frame["along"].nunique() > 1
        rows_of = {along.text(value): value for value in frame["along"]} if grouped else names
        full = page.width or (NARROW if len(panels) == 1 else WIDTH)
        labels = Names(rows_of, 7, page.names(full))
        label, factor = measures.measure(column, chart.finite(frame["y"]))
        limits = chart.range_of(frame, column, along)
        left = 0.33 + chart.label_room(limits, factor) if is_lines else labels.width + (0.14 if grouped else 0.38)
        ends = [text_width(along.text(value), 7) / 2 for value in (min(frame["along"]), max(frame["along"]))] if is_lines else [0, 0]
        right, gap = max(0.12, ends[1]), max(0.22, sum(ends))
        columns = max(1, min({1: 1, 2: 2, 4: 2}.get(len(panels), 3), int((full - left) / 1.2)))
        size = matplotlib.rcParams["axes.labelsize"]
        width = (full - left - gap * (columns - 1) - right) / columns
        beside = wrap(label, size, line_height(width, columns, page) + 0.1) if is_lines else [""]
        left += 0.018 * size * (len(beside) - 1)
        width = (full - left - gap * (columns - 1) - right) / columns
        height = line_height(width, columns, page) if is_lines else bar_height(labels, names if grouped else [""]) * len(rows_of) + 0.1
        bare = len(panels) == 1 and page.width and not page.notes       # the caption has the title
        titles = [page.title_lines("" if bare else panel if is_lines or grouped else with_place(panel, rows, along), width + gap / 2) for panel, rows in panels]
        above = 0.08 + TITLE_LINE * max(map(len, titles))
        below_axis = wrap(along.label if is_lines else label, size, width)
        pitch = above + height + 0.43 + 0.018 * size * (len(below_axis) - 1)
        handles = legend_of(frame, names, styles, column, along, page, is_lines, grouped)
        below = 0.08 + -(-len(panels) // columns) * pitch
        end = below + (legend_height(handles, full, matplotlib.rcParams["legend.fontsize"]) if handles else 0) + 0.06
        sheet = Sheet(full, end + notes_height(notes, full, page))
        for place, (_, rows) in enumerate(panels):
            row, number = divmod(place, columns)
            axes = sheet.axes(left + number * (width + gap), 0.08 + above + row * pitch, width, height)
            if is_lines:
                chart.lines(axes, rows, names, styles, column, along, width, limits, factor, page.scale)
                axes.set_ylabel("\n".join(beside) if number == 0 else "")
                axes.tick_params(labelleft=number == 0)
            else:
                chart.bars(axes, chart.cells(rows, names, rows_of if grouped else None), styles, frame, column, width, factor, page.value(6.5))
                axes.set_ylim(len(rows_of) - 0.4, -0.6)
                if number == 0:
                    name_rows(axes, list(rows_of), {} if grouped else styles, labels)
            axes.set_xlabel("\n".join(below_axis))
            axes.set_title("\n".join(titles[place]))
        if handles:
            sheet.legend(handles, below, matplotlib.rcParams["legend.fontsize"])
        if page.notes:
            heading(sheet, notes, 0.1, end, SMALL)
        return sheet.figure


def line_height(width, columns, page):
    """Inches of a panel with lines: in proportion, or for a page of no given width as high as fits a few."""
    return min(2.75, max(1.2, 0.64 * width)) if page.width else 2.75 if columns < 3 else 2.1


def bar_height(labels, names):
    """Inches of a row with a bar per name."""
    return max(0.2, labels.row, 0.06 + 0.13 * len(names) if len(names) > 1 else 0)


def with_place(panel, rows, along):
    """A panel's title with the only place along the axis."""
    if along.pointer == measures.NODES:
        return f"{panel}, {counted(rows['nodes'].iloc[0], 'node')}"
    return ", ".join(text for text in (panel, f"{along.text(rows['along'].iloc[0])} {along.unit}".strip()) if text)


def legend_of(frame, names, styles, column, along, page, is_lines, grouped):
    """What the legend names: series that nothing else names, and linear scaling."""
    if is_lines:
        handles = [Line2D([], [], label=name, **chart.curve_style(index, styles[name], page.scale)) for index, name in enumerate(names)]
    else:
        handles = [Patch(facecolor=styles[name].color, label=name) for name in names] if grouped else []
    size = matplotlib.rcParams["legend.fontsize"]
    for handle in handles:
        handle.set_label("\n".join(wrap(handle.get_label(), size, (page.width or NARROW) - 0.4 - 0.074 * size)))
    reference = chart.ideal_of(frame, column, along if is_lines else None) is not None
    return [handle for handle in handles if handle.get_label()] + [reference_handle()] * reference


def reference_handle():
    return Line2D([], [], color=style.REFERENCE, linewidth=1, label="linear scaling")


def line_handles(names, styles):
    return [Line2D([], [], label=name, **chart.curve_style(index, styles[name], 1.0))
            for index, name in enumerate(names)] + [reference_handle()]
